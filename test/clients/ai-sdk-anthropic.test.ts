import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AnthropicProvider, createAnthropic } from '@ai-sdk/anthropic';
import { APICallError, generateText, stepCountIs, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { type Parley, startParley } from './harness.ts';
import { encodeToolCall, encodeScript } from './engine-script.ts';

const MODEL = 'svc-plus';
const PAUSE = { delayMs: 30 };
const COUNT = ['One', ', two', ', three'];
const PACED_COUNT = COUNT.flatMap((piece) => [piece, PAUSE]);

describe('the AI SDK with its provider for the messages API', () => {
  let parley: Parley;
  let provider: AnthropicProvider;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    provider = createAnthropic({ baseURL: `${parley.address}/apps/anthropic/v1`, apiKey: parley.key });
  });
  after(() => parley?.stop());

  const createOptions = (...steps: unknown[]) => ({
    model: provider(MODEL),
    prompt: encodeScript(...steps),
    maxOutputTokens: 64,
    maxRetries: 0,
  });

  test('gets a text and its usage', async () => {
    const { text, finishReason, usage } = await generateText({ ...createOptions(...COUNT), system: 'Be brief.' });
    assert.deepEqual([text, finishReason, usage.outputTokens], ['One, two, three', 'stop', 3]);
    assert.ok((usage.inputTokens ?? 0) > 0);
  });

  test('streams a text in pieces', async () => {
    const result = streamText(createOptions(...PACED_COUNT));
    assert.deepEqual(await Array.fromAsync(result.textStream), COUNT);
    assert.equal(await result.finishReason, 'stop');
    assert.equal((await result.totalUsage).outputTokens, 3);
  });

  test('gets the finish reason of an answer', async () => {
    const { text, finishReason } = await generateText({ ...createOptions(...COUNT), stopSequences: [', three'] });
    assert.deepEqual([text, finishReason], ['One, two', 'stop']);
    const cut = await generateText({ ...createOptions(...COUNT), maxOutputTokens: 2 });
    assert.deepEqual([cut.text, cut.finishReason], ['One, two', 'length']);
  });

  for (const isStreamed of [false, true]) {
    test(`runs a tool loop${isStreamed ? ', streaming' : ''}`, async () => {
      const cities: string[] = [];
      const options = {
        ...createOptions(encodeToolCall('get_weather', { city: 'Paris' })),
        tools: {
          get_weather: tool({
            description: 'Get the weather in a city.',
            inputSchema: z.object({ city: z.string() }),
            // The result of the tool is the script of the model's next answer.
            execute: ({ city }) => {
              cities.push(city);
              const next = cities.length === 1 ? encodeToolCall('get_weather', { city: 'Rome' }) : 'Sunny in both.';
              return `\n${encodeScript(next)}\n`;
            },
            toModelOutput: ({ output }) => ({ type: 'text' as const, value: String(output) }),
          }),
        },
        stopWhen: stepCountIs(5),
      };
      const { steps, text, finishReason } = isStreamed ? streamText(options) : await generateText(options);
      assert.equal(await text, 'Sunny in both.');
      assert.deepEqual(cities, ['Paris', 'Rome']);
      assert.equal((await steps).length, 3);
      assert.equal(await finishReason, 'stop');
    });
  }

  test('gets a thought separate from the text, and sends it back', async () => {
    const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
    const options = { ...createOptions('It is easy.', PAUSE, '</think>', '7.'), providerOptions: thinking };
    const { reasoningText, text, response } = await generateText(options);
    assert.deepEqual([reasoningText?.trim(), text.trim()], ['It is easy.', '7.']);
    const streamed = streamText(options);
    assert.equal((await streamed.reasoningText)?.trim(), 'It is easy.');
    const { prompt: _, ...rest } = options;
    const messages = [...response.messages, { role: 'user' as const, content: encodeScript('</think>', 'Yes.') }];
    const again = await generateText({ ...rest, messages: [{ role: 'user', content: '3 + 4?' }, ...messages] });
    assert.equal(again.text.trim(), 'Yes.');
  });

  test('gets an object of a zod schema', async () => {
    const { output } = await generateText({
      ...createOptions('{"city": "Paris"}'),
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    assert.deepEqual(output, { city: 'Paris' });
  });

  test('gets errors with their status and whether a retry may help', async () => {
    const refusals = [
      { options: { ...createOptions('Hi'), model: provider('no-such-model') }, status: 404, isRetryable: false },
      { options: { ...createOptions('Hi'), stopSequences: [''] }, status: 400, isRetryable: false },
      { options: createOptions({ fail: 'overloaded' }), status: 503, isRetryable: true },
    ];
    for (const { options, status, isRetryable } of refusals) {
      await assert.rejects(generateText(options), (error) => {
        assert.ok(APICallError.isInstance(error), String(error));
        assert.deepEqual([error.statusCode, error.isRetryable], [status, isRetryable]);
        assert.ok(error.message);
        return true;
      });
    }
  });
});
