import assert from 'node:assert/strict';
import { test } from 'node:test';
import { startParley } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';

/** The grammar of this schema allows only equal items, so the check of `uniqueItems` always fails. */
const schema = { type: 'array', items: { const: 1 }, minItems: 3, maxItems: 3, uniqueItems: true };
const FORM = { response_format: { type: 'json_schema', json_schema: { name: 'x', schema } } };
const CALL = {
  tools: [{ type: 'function', function: { name: 'f', parameters: { properties: { a: schema }, required: ['a'] } } }],
  tool_choice: 'required',
};

test(
  'an answer that fails its check ends with an error, streamed or not, and the service keeps running',
  { skip: getWeightsSkipReason('svc-tiny') },
  async () => {
    const parley = await startParley({ withTinyModel: true });
    try {
      const ask = (fields: object): Promise<Response> =>
        fetch(`${parley.baseUrl}/chat/completions`, {
          method: 'POST',
          headers: { authorization: `Bearer ${parley.key}`, 'content-type': 'application/json' },
          body: JSON.stringify({
            model: 'svc-tiny',
            max_tokens: 40,
            messages: [{ role: 'user', content: 'three numbers' }],
            ...fields,
          }),
        });
      for (const fields of [FORM, CALL]) {
        for (let round = 0; round < 3; round++) {
          const plain = await ask(fields);
          assert.equal(plain.status, 500);
          assert.match(await plain.text(), /must not contain duplicate items/);
          const text = await (await ask({ ...fields, stream: true })).text();
          assert.match(text, /"error":\{.*must not contain duplicate items/);
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
