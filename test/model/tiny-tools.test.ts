import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';

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

/**
 * The template of the model has no tools, so Parley describes them in the prompt, and the grammar enforces valid calls.
 */
describe('a model without a tool template', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
    client = new OpenAI({ apiKey: parley.key, baseURL: parley.baseUrl });
  });
  after(() => parley.stop());

  for (const tool_choice of ['required', { type: 'function', function: { name: 'get_weather' } }] as const)
    test(`makes a valid call: ${typeof tool_choice === 'string' ? tool_choice : 'named'}`, async () => {
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
});
