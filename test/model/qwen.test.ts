import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import type { Message } from '../../src/core/message.ts';
import { createPromptRenderer } from '../../src/generation/prompt-renderer.ts';
import { runToEnd, createEngineRequest } from '../contracts/engine-contract.ts';
import type { EngineAnswer } from '../contracts/engine-contract.ts';
import { openTestLlama } from './test-llama.ts';
import type { TestLlama } from './test-llama.ts';
import { getWeightsFileSkipReason, SMALL } from './weights.ts';

describe('Qwen2.5 on the llama engine', { skip: getWeightsFileSkipReason(SMALL) }, () => {
  let llama: TestLlama;
  before(async () => {
    llama = await openTestLlama(SMALL);
  });
  after(() => llama.close());

  it('gives a seeded request the same text alone and beside three others', async () => {
    const seeded = createEngineRequest('Write a haiku about the sea, the wind, the gulls and the long way home.', {
      sampling: { temperature: 0.9, seed: 11 },
      maxTokens: 10,
      logprobs: { top: 0 },
    });
    // Log probabilities show small numeric differences that may not change the text.
    const getLogprobs = ({ events }: EngineAnswer) =>
      events.flatMap((event) => (event.type === 'text' ? (event.logprobs ?? []).map(({ logprob }) => logprob) : []));
    const alone = await runToEnd(llama.engine, seeded);
    const caller = new AbortController();
    const others = await Promise.all(
      ['a river', 'a mountain', 'a tree'].map((topic) =>
        llama.engine.start(createEngineRequest(`Describe ${topic}.`, { sampling: {} }), caller.signal),
      ),
    );
    const reading = others.map(async ({ batches }) => {
      let count = 0;
      for await (const batch of batches) count += batch.length;
      return count;
    });
    // The same workspace reuses the prompt cache; another workspace evaluates the prompt again.
    const beside = await runToEnd(llama.engine, seeded);
    const elsewhere = await runToEnd(llama.engine, { ...seeded, owner: { workspace: 'other', key: 'k' } });
    caller.abort();
    await Promise.allSettled(reading);
    assert.ok(alone.text.length > 20);
    assert.equal(beside.text, alone.text);
    assert.equal(elsewhere.text, alone.text);
    assert.deepEqual(getLogprobs(beside), getLogprobs(alone));
    assert.deepEqual(getLogprobs(elsewhere), getLogprobs(alone));
    assert.ok((beside.engineRun.cachedTokens ?? 0) > 0);
    assert.equal(elsewhere.engineRun.cachedTokens, 0);
  });

  it('writes a call freely up to its name, and its arguments by their schema', async () => {
    const days = { type: 'integer', minimum: 1, maximum: 5 };
    const parameters = {
      type: 'object',
      properties: { city: { type: 'string', maxLength: 20 }, days },
      required: ['city', 'days'],
      additionalProperties: false,
    };
    const { text, events } = await runToEnd(
      llama.engine,
      createEngineRequest(
        'What will the weather be like in Rome for three days? Call a function. Write only JSON, like this: ' +
          '{"name": "weather", "arguments": {"city": "Oslo", "days": 1}}',
        {
          maxTokens: 80,
          markers: ['<tool_call>'],
          phases: [
            { kind: 'answer', triggers: [{ pattern: '\\{\\s*"name"\\s*:\\s*"weather"', phase: 1 }] },
            {
              kind: 'call',
              grammar: {
                type: 'sequence',
                parts: [
                  { type: 'text', text: ', "arguments": ' },
                  { type: 'schema', schema: parameters, field: 'tools[0]' },
                  { type: 'text', text: '}' },
                ],
              },
            },
          ],
        },
      ),
    );
    const call = JSON.parse(text.slice(text.indexOf('{'))) as { arguments: { city: string; days: number } };
    assert.match(call.arguments.city, /Rome|Oslo/);
    assert.ok(call.arguments.days >= 1 && call.arguments.days <= 5);
    assert.deepEqual(
      events.flatMap((event) => (event.type === 'choice-end' ? [event.reason] : [])),
      ['stop'],
    );
  });

  it("reads tool markup in a caller's text as text", async () => {
    const count = (text: string, special: boolean): Promise<number> =>
      llama.engine.countTokens({ type: 'segments', segments: [{ text, special }] });
    for (const markup of ['<|im_start|>', '<tool_call>', '<|fim_prefix|>']) {
      assert.equal(await count(markup, true), 1, markup);
      assert.ok((await count(markup, false)) > 1, markup);
    }
  });

  it('renders the template of the file with tool messages, and marks its special tokens', async () => {
    const part = (text: string) => [{ type: 'text', text }] as const;
    const messages: Message[] = [
      { role: 'system', content: part('Be brief.') },
      { role: 'user', content: part('Weather? <|im_end|>') },
      {
        role: 'assistant',
        content: [],
        toolCalls: [{ id: 'call_1', name: 'weather', arguments: '{"city":"Ulm","days":2}' }],
      },
      { role: 'tool', content: part('sunny'), toolCallId: 'call_1' },
      { role: 'tool', content: part('then rain'), toolCallId: 'call_2' },
    ];
    const segments = createPromptRenderer()(await llama.engine.loadModel()).render(messages, {});
    assert.equal(
      segments.map(({ text }) => text).join(''),
      [
        '<|im_start|>system\nBe brief.<|im_end|>\n',
        '<|im_start|>user\nWeather? <|im_end|><|im_end|>\n',
        '<|im_start|>assistant\n<tool_call>\n{"name": "weather", "arguments": {"city": "Ulm", "days": 2}}\n</tool_call><|im_end|>\n',
        '<|im_start|>user\n<tool_response>\nsunny\n</tool_response>\n<tool_response>\nthen rain\n</tool_response><|im_end|>\n',
        '<|im_start|>assistant\n',
      ].join(''),
    );
    const specials = segments.flatMap(({ text, special }) => (special ? [text] : []));
    assert.deepEqual(specials.filter((text) => text === '<|im_end|>').length, 4, 'the markup of the caller is text');
    assert.deepEqual(
      specials.filter((text) => text.includes('tool')),
      ['<tool_call>', '</tool_call>'],
    );
  });
});
