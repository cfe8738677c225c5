import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { createReference } from '../../src/grammar/__fixtures__/reference.ts';
import { handWritten } from '../../src/grammar/__fixtures__/schemas.ts';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { lacksWeights } from '../models-folder.ts';

/** Enough for a value of each schema; what runs on is cut, and then need not be valid. */
const TOKENS_MAX = 160;

/** Of the 20 schemas: so many at least must have been answered whole, or the test says little. */
const WHOLE_MIN = 16;

describe('structured answers of a real model', { skip: lacksWeights('svc-plus') }, () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ sequences: 4 });
    client = new OpenAI({ apiKey: parley.key, baseURL: parley.baseUrl, timeout: 120_000 });
  });
  after(() => parley.stop());

  test('are valid under 20 schemas, as text and as arguments of a call', async () => {
    const validatorOf = createReference();
    let whole = 0;
    const check = async ({ name, prompt, schema }: (typeof handWritten)[number], at: number): Promise<void> => {
      // Seeded: much the same number is cut each time.
      const asked = { model: 'svc-plus', temperature: 0.7, seed: at, max_tokens: TOKENS_MAX };
      const messages = [{ role: 'user' as const, content: prompt }];
      const isObject = typeof schema === 'object' && schema['type'] === 'object';
      // Every second object as arguments: the same grammar behind a call's beginning.
      const form =
        isObject && at % 2 === 1
          ? {
              tools: [
                { type: 'function' as const, function: { name: 'save', description: prompt, parameters: schema } },
              ],
              tool_choice: 'required' as const,
            }
          : { response_format: { type: 'json_schema' as const, json_schema: { name: 'value', schema } } };
      const { choices } = await client.chat.completions.create({
        ...asked,
        messages,
        ...form,
      } as OpenAI.ChatCompletionCreateParamsNonStreaming);
      const [choice] = choices;
      assert.ok(choice, name);
      if (choice.finish_reason === 'length') return;
      const call = choice.message.tool_calls?.[0];
      const text = call?.type === 'function' ? call.function.arguments : choice.message.content;
      const value: unknown = JSON.parse(text ?? '');
      assert.ok(validatorOf(schema)(value), `${name}: ${text}`);
      whole++;
    };
    const waiting = [...handWritten.entries()];
    const worker = async (): Promise<void> => {
      for (let next = waiting.shift(); next; next = waiting.shift()) await check(next[1], next[0]);
    };
    await Promise.all(Array.from({ length: 4 }, worker));
    assert.equal(handWritten.length, 20);
    assert.ok(whole >= WHOLE_MIN, `${whole} of 20 were answered whole`);
  });
});
