import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { createReferenceValidator } from '../../src/grammar/__fixtures__/reference-validator.ts';
import { HAND_WRITTEN_SCHEMAS } from '../../src/grammar/__fixtures__/realistic-schemas.ts';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';

/** Enough tokens for a value of each schema. An answer that is cut at this limit need not be valid. */
const TOKENS_MAX = 160;

/** Fewest of the 20 answers that must be complete, so that the test is meaningful. */
const WHOLE_MIN = 16;

describe('structured answers of a real model', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    // The grammar makes an answer valid, whatever the model.
    parley = await startParley({ sequences: 4, withTinyModel: true });
    client = new OpenAI({ apiKey: parley.key, baseURL: parley.baseUrl, timeout: 120_000 });
  });
  after(() => parley.stop());

  test('are valid under 20 schemas, as text and as arguments of a call', async () => {
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
    const waiting = [...HAND_WRITTEN_SCHEMAS.entries()];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await check(next[1], next[0]);
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    assert.equal(HAND_WRITTEN_SCHEMAS.length, 20);
    assert.ok(whole >= WHOLE_MIN, `${whole} of 20 were answered whole`);
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
});
