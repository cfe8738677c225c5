import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import { lacksWeights } from '../models-folder.ts';

/** Its grammar allows one value only, which is not unique. */
const schema = { type: 'array', items: { const: 1 }, minItems: 3, maxItems: 3, uniqueItems: true };
const FORM = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
const CALL = {
  tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { a: schema }, required: ['a'] } } }],
  tool_choice: 'required',
};

test(
  'an answer that fails its check ends with an error, streamed or not, and the service goes on',
  { skip: lacksWeights('svc-tiny') },
  async () => {
    const parley = await startParley();
    try {
      const ask = (more: object): Promise<Response> =>
        fetch(`${parley.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'svc-tiny',
            max_tokens: 40,
            messages: [{ role: 'user', content: 'three numbers' }],
            ...more,
          }),
        });
      for (const asked of [FORM, CALL]) {
        for (let round = 0; round < 3; round++) {
          const plain = await ask(asked);
          assert.equal(plain.status, 500);
          assert.match(await plain.text(), /must not hold an item twice/);
          const text = await (await ask({ ...asked, stream: true })).text();
          assert.match(text, /"error":\{.*must not hold an item twice/);
          assert.doesNotMatch(text, /\[DONE\]|"finish_reason":"(stop|tool_calls)"/);
        }
      }
      assert.equal((await ask({})).status, 200);
      assert.doesNotMatch(parley.output(), /Uncaught|Unhandled|AbortError/);
    } finally {
      await parley.stop();
    }
  },
);
