import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import OpenAI from 'openai';
import { startParley } from '../clients/harness.ts';
import type { Parley } from '../clients/harness.ts';
import { getWeightsSkipReason } from '../models-folder.ts';

const QUESTION = [{ role: 'user', content: 'Tom has 3 apples and buys 4 more. How many has he?' }] as const;

/** Fields of the vendor that the types of the client do not have. */
const createThinkingFields = (thinking_budget: number, more: object = {}) => ({
  enable_thinking: true,
  thinking_budget,
  ...more,
});

describe('thinking on a real model', { skip: getWeightsSkipReason('svc-tiny') }, () => {
  let parley: Parley;
  let client: OpenAI;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
    client = new OpenAI({ apiKey: parley.key, baseURL: parley.baseUrl });
  });
  after(() => parley.stop());

  test('ends at its budget, and the answer follows', async () => {
    const { data, response } = await client.chat.completions
      .create({
        model: 'svc-plus',
        messages: [...QUESTION],
        max_tokens: 24,
        temperature: 0,
        ...createThinkingFields(12),
      })
      .withResponse();
    const [choice] = data.choices;
    const thought = (choice?.message as { reasoning_content?: string } | undefined)?.reasoning_content ?? '';
    assert.ok(thought.length > 5, 'no thought');
    assert.ok((choice?.message.content ?? '').length > 0, 'no answer');
    assert.ok(!/<\/?think>/.test(thought + choice?.message.content), 'the answer contains template markup');
    const details = data.usage?.completion_tokens_details;
    assert.ok((details?.reasoning_tokens ?? 0) > 0 && (details?.reasoning_tokens ?? 0) <= 12);
    assert.ok((data.usage?.completion_tokens ?? 0) <= 12 + 24);
    assert.equal(response.headers.get('x-parley-ignored'), null);
  });

  test('is streamed before the answer, with log probabilities of the answer only', async () => {
    const stream = await client.chat.completions.create({
      model: 'svc-plus',
      messages: [...QUESTION],
      max_tokens: 8,
      temperature: 0,
      stream: true,
      logprobs: true,
      ...createThinkingFields(8),
    });
    const order: string[] = [];
    for await (const chunk of stream) {
      const [choice] = chunk.choices;
      if (!choice) continue;
      const { content, reasoning_content: thought } = choice.delta as { content?: string; reasoning_content?: string };
      if (thought) {
        order.push('thought');
        assert.equal(choice.logprobs ?? null, null);
      }
      if (content) order.push('answer');
    }
    assert.ok(order.includes('thought') && order.includes('answer'));
    assert.ok(order.lastIndexOf('thought') < order.indexOf('answer'));
  });

  test('is limited by max_completion_tokens together with the answer', async () => {
    const { choices, usage } = await client.chat.completions.create({
      model: 'svc-plus',
      messages: [...QUESTION],
      max_completion_tokens: 10,
      temperature: 0,
      ...createThinkingFields(40),
    });
    assert.equal(choices[0]?.finish_reason, 'length');
    assert.ok((usage?.completion_tokens ?? 99) <= 10);
  });

  test('is repeated in later prompts with preserve_thinking', async () => {
    const messages = [
      QUESTION[0],
      { role: 'assistant', content: '7', reasoning_content: 'Three and four make seven, so he has seven apples now.' },
      { role: 'user', content: 'And if he eats one?' },
    ] as OpenAI.ChatCompletionMessageParam[];
    const countPromptTokens = async (more: object): Promise<number> => {
      const { usage } = await client.chat.completions.create({ model: 'svc-plus', messages, max_tokens: 1, ...more });
      return usage?.prompt_tokens ?? 0;
    };
    assert.ok((await countPromptTokens({ preserve_thinking: true })) > (await countPromptTokens({})) + 8);
  });
});
