import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { createReferenceValidator } from '../../src/grammar/__fixtures__/reference-validator.ts';
import { HAND_WRITTEN_SCHEMAS } from '../../src/grammar/__fixtures__/realistic-schemas.ts';
import { startParley } from '../clients/harness.ts';
import type { ParleyProcess } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';

/** Enough tokens for a value of each schema. An answer that is cut at this limit need not be valid. */
const TOKENS_MAX = 160;

/** All schemas in a full run (PARLEY_TEST_FULL=1); otherwise half of them. */
const SCHEMAS = [...HAND_WRITTEN_SCHEMAS.entries()].filter(
  ([at]) => process.env['PARLEY_TEST_FULL'] === '1' || at % 4 < 2,
);

/** Smallest share of the answers that must be complete, so that the test is meaningful. */
const WHOLE_SHARE_MIN = 0.8;

const TOOL = {
  type: 'function',
  function: {
    name: 'get_weather',
    description: 'The weather of a city',
    parameters: {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 20 }, unit: { enum: ['C', 'F'] } },
      required: ['city', 'unit'],
      additionalProperties: false,
    },
  },
} as const;

/** The grammar of this schema allows only equal items, so the check of `uniqueItems` always fails. */
const EQUAL_ITEMS = { type: 'array', items: { const: 1 }, minItems: 3, maxItems: 3, uniqueItems: true };
const EQUAL_FORM = {
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema: EQUAL_ITEMS } },
};
const EQUAL_CALL = {
  tools: [
    { type: 'function', function: { name: 'f', parameters: { properties: { a: EQUAL_ITEMS }, required: ['a'] } } },
  ],
  tool_choice: 'required',
};

/** How often each failing answer is asked for. */
const FAILING_ROUNDS = process.env['PARLEY_TEST_FULL'] === '1' ? 3 : 1;

describe('structured answers of a real model', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let parley: ParleyProcess;
  let client: OpenAI;
  before(async () => {
    // The grammar makes an answer valid, whatever the model.
    parley = await startParley({ sequences: 4, withTinyModel: true });
    client = new OpenAI({ apiKey: parley.key, baseURL: parley.baseUrl, timeout: 120_000 });
  });
  after(() => parley.stop());

  test('are valid under realistic schemas, as text and as arguments of a call', async () => {
    const createValidator = createReferenceValidator();
    let whole = 0;
    const check = async (
      { name, prompt, schema }: (typeof HAND_WRITTEN_SCHEMAS)[number],
      at: number,
    ): Promise<void> => {
      // A seed keeps the number of cut answers nearly constant.
      const settings = { model: 'svc-plus', temperature: 0.7, seed: at, max_tokens: TOKENS_MAX };
      const messages = [{ role: 'user' as const, content: prompt }];
      const isObject = typeof schema === 'object' && schema['type'] === 'object';
      // Every second object schema is used for the arguments of a tool call, which use the same grammar.
      const formatFields =
        isObject && at % 2 === 1
          ? {
              tools: [
                { type: 'function' as const, function: { name: 'save', description: prompt, parameters: schema } },
              ],
              tool_choice: 'required' as const,
            }
          : { response_format: { type: 'json_schema' as const, json_schema: { name: 'value', schema } } };
      const { choices } = await client.chat.completions.create({
        ...settings,
        messages,
        ...formatFields,
      } as OpenAI.ChatCompletionCreateParamsNonStreaming);
      const [choice] = choices;
      assert.ok(choice, name);
      if (choice.finish_reason === 'length') return;
      const call = choice.message.tool_calls?.[0];
      const text = call?.type === 'function' ? call.function.arguments : choice.message.content;
      const value: unknown = JSON.parse(text ?? '');
      assert.ok(createValidator(schema)(value), `${name}: ${text}`);
      whole++;
    };
    const waiting = [...SCHEMAS];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await check(next[1], next[0]);
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    assert.equal(HAND_WRITTEN_SCHEMAS.length, 20);
    assert.ok(whole >= WHOLE_SHARE_MIN * SCHEMAS.length, `${whole} of ${SCHEMAS.length} were answered whole`);
  });

  // Without a format, the model finds a text of the format for each of these.
  const texts: readonly { readonly format: string; readonly text: string }[] = [
    { format: 'email', text: 'internationalrelations@example.com' },
    { format: 'email', text: 'anna.maria.luisa.rossi@example.com' },
    { format: 'email', text: "o'brien@example.com" },
    { format: 'uri', text: 'postgres://app:secret@db.example.com/app' },
  ];
  for (const { format, text } of texts)
    test(`are the same with and without the format of ${text}`, async () => {
      const extract = async (property: object): Promise<string | null | undefined> => {
        const schema = { type: 'object', properties: { value: property }, required: ['value'] };
        const { choices } = await client.chat.completions.create({
          model: 'svc-plus',
          temperature: 0,
          max_tokens: 60,
          messages: [{ role: 'user', content: `Extract the ${format} as JSON with the key "value": ${text}` }],
          response_format: { type: 'json_schema', json_schema: { name: 'value', schema } },
        });
        return choices[0]?.message.content;
      };
      assert.equal(await extract({ type: 'string', format }), await extract({ type: 'string' }));
    });

  // The template of the model has no tools, so Parley describes them in the prompt, and the grammar enforces valid calls.
  for (const tool_choice of ['required', { type: 'function', function: { name: 'get_weather' } }] as const)
    test(`are valid calls: ${typeof tool_choice === 'string' ? tool_choice : 'named'}`, async () => {
      const { choices } = await client.chat.completions.create({
        model: 'svc-tiny',
        messages: [{ role: 'user', content: 'What is the weather in Paris?' }],
        tools: [TOOL],
        tool_choice,
        temperature: 0,
        max_tokens: 80,
      });
      assert.equal(choices[0]?.finish_reason, 'tool_calls');
      const [call] = choices[0].message.tool_calls ?? [];
      assert.ok(call?.type === 'function' && call.function.name === 'get_weather');
      const value = JSON.parse(call.function.arguments) as { city: string; unit: string };
      assert.deepEqual(Object.keys(value).toSorted(), ['city', 'unit']);
      assert.ok(typeof value.city === 'string' && ['C', 'F'].includes(value.unit));
    });

  test('that fail their check end with an error, streamed or not, and the service keeps running', async () => {
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
    for (const fields of [EQUAL_FORM, EQUAL_CALL]) {
      for (let round = 0; round < FAILING_ROUNDS; round++) {
        const plain = await ask(fields);
        assert.equal(plain.status, 500);
        assert.match(await plain.text(), /must not contain duplicate items/);
        const text = await (await ask({ ...fields, stream: true })).text();
        assert.match(text, /"error":\{.*must not contain duplicate items/);
        assert.doesNotMatch(text, /\[DONE\]|"finish_reason":"(stop|tool_calls)"/);
      }
    }
    assert.equal((await ask({ max_tokens: 4 })).status, 200);
    assert.doesNotMatch(parley.output(), /Uncaught|Unhandled|AbortError/);
  });
});
