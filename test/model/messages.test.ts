import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import Anthropic from '@anthropic-ai/sdk';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { WEATHER_FUNCTION, WEATHER_QUESTION } from '../clients/weather-function.ts';
import { getWeightsSkipReason } from '../models-folder.ts';

/** The smallest model, for tests in which the content of an answer does not matter. */
const MODEL = 'svc-tiny';
/** Its template has tools, which the smallest model has in its prompt. */
const CAPABLE_MODEL = 'svc-plus';
const THINKING = { type: 'enabled', budget_tokens: 12 } as const;
/** Greedy sampling. The types of the client no longer have the field. */
const GREEDY: object = { temperature: 0 };

const weather: Anthropic.Tool = {
  name: WEATHER_FUNCTION.name,
  description: WEATHER_FUNCTION.description,
  input_schema: { ...WEATHER_FUNCTION.parameters, type: 'object' },
};
const question: Anthropic.MessageParam = { role: 'user', content: WEATHER_QUESTION };
const history: Anthropic.MessageParam[] = [
  question,
  {
    role: 'assistant',
    content: [
      { type: 'thinking', thinking: 'I have to look.', signature: 's' },
      { type: 'text', text: 'Let me see.' },
      { type: 'tool_use', id: 'toolu_1', name: WEATHER_FUNCTION.name, input: { city: 'Paris' } },
    ],
  },
  { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'toolu_1', content: 'sunny, 21 °C' }] },
];

describe(
  'messages on a real model',
  { skip: getWeightsSkipReason(MODEL) || getWeightsSkipReason(CAPABLE_MODEL) },
  () => {
    let parley: Parley;
    let client: Anthropic;
    before(async () => {
      parley = await startParley();
      client = new Anthropic({
        baseURL: `${parley.address}/apps/anthropic`,
        apiKey: parley.key,
        authToken: null,
        maxRetries: 0,
      });
    });
    after(() => parley?.stop());

    for (const [name, params] of Object.entries<
      Partial<Anthropic.MessageCountTokensParams> & Pick<Anthropic.MessageCountTokensParams, 'messages'>
    >({
      'a question': { messages: [question] },
      'a system prompt': { messages: [question], system: [{ type: 'text', text: 'Be brief.' }] },
      tools: { messages: [question], tools: [weather] },
      'a forced tool': {
        messages: [question],
        tools: [weather],
        tool_choice: { type: 'tool', name: WEATHER_FUNCTION.name },
      },
      'a thought': { messages: [question], thinking: THINKING },
      'a thought, tools and their results': { messages: history, tools: [weather], thinking: THINKING },
      'results without a thought': { messages: history, tools: [weather] },
      'tools of a template, and their results': { model: CAPABLE_MODEL, messages: history, tools: [weather] },
      'the beginning of an answer': { messages: [question, { role: 'assistant', content: 'It is' }] },
    })) {
      test(`counts the same input tokens for ${name} as an answer reports`, async () => {
        const count = await client.messages.countTokens({ model: MODEL, ...params });
        const { usage } = await client.messages.create({ model: MODEL, max_tokens: 1, ...params });
        const { input_tokens: input, cache_read_input_tokens: read, cache_creation_input_tokens: created } = usage;
        assert.equal(count.input_tokens, input + (read ?? 0) + (created ?? 0));
      });
    }

    test('thinks within its budget, then answers', async () => {
      const message = await client.messages
        .stream({
          model: MODEL,
          max_tokens: 16,
          messages: [{ role: 'user', content: 'Is 7 a prime number?' }],
          thinking: THINKING,
          ...GREEDY,
        })
        .finalMessage();
      const [thought, answer] = message.content;
      assert.ok(thought?.type === 'thinking' && thought.thinking && thought.signature);
      assert.ok(answer?.type === 'text' && answer.text);
      assert.ok(message.usage.output_tokens <= 12 + 16);
    });

    test('calls a forced tool, and answers after its result', async () => {
      const params = { model: MODEL, max_tokens: 60, messages: [question], tools: [weather], ...GREEDY };
      const { content, stop_reason: reason } = await client.messages.create({
        ...params,
        tool_choice: { type: 'any' },
      });
      const call = content.find(({ type }) => type === 'tool_use');
      assert.ok(call?.type === 'tool_use' && reason === 'tool_use');
      assert.equal(typeof (call.input as { city?: unknown }).city, 'string');
      const result = { type: 'tool_result' as const, tool_use_id: call.id, content: 'sunny, 21 °C' };
      const messages: Anthropic.MessageParam[] = [
        question,
        { role: 'assistant', content },
        { role: 'user', content: [result] },
      ];
      const last = await client.messages.create({ ...params, messages, tool_choice: { type: 'none' } });
      assert.ok(last.content.some((block) => block.type === 'text' && block.text));
    });

    test('continues a prefilled answer', async () => {
      const messages: Anthropic.MessageParam[] = [
        { role: 'user', content: 'What is the capital of France?' },
        { role: 'assistant', content: 'The capital of France is' },
      ];
      const { content } = await client.messages.create({ model: CAPABLE_MODEL, max_tokens: 4, messages, ...GREEDY });
      assert.match(content.map((block) => ('text' in block ? block.text : '')).join(''), /^\s*Paris/);
    });

    test('refuses a prompt that is too long, with both token counts', async () => {
      const messages = [{ role: 'user' as const, content: 'long '.repeat(2100) }];
      const create = client.messages.create({ model: MODEL, max_tokens: 1, messages });
      await assert.rejects(create, /prompt is too long: \d+ tokens > 2047 maximum/);
      const { input_tokens: count } = await client.messages
        .countTokens({ model: MODEL, messages })
        .catch((error: unknown) => {
          assert.match(String(error), /prompt is too long/);
          return { input_tokens: 2048 };
        });
      assert.ok(count >= 2048);
    });
  },
);
