import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { type AnthropicProvider, createAnthropic } from '@ai-sdk/anthropic';
import { APICallError, generateText, isStepCount, Output, streamText, tool } from 'ai';
import { z } from 'zod';
import { type Parley, startParley } from './harness.ts';
import { callOf, says } from './script.ts';

const MODEL = 'svc-plus';
const PAUSE = { delayMs: 30 };
const COUNTED = ['One', ', two', ', three'];
const SLOWLY = COUNTED.flatMap((piece) => [piece, PAUSE]);

describe('the AI SDK with its provider for messages', () => {
  let parley: Parley;
  let provider: AnthropicProvider;
  before(async () => {
    parley = await startParley({ engine: 'scripted' });
    provider = createAnthropic({ baseURL: `${parley.address}/apps/anthropic/v1`, apiKey: parley.key });
  });
  after(() => parley?.stop());

  const asking = (...steps: unknown[]) => ({
    model: provider(MODEL),
    prompt: says(...steps),
    maxOutputTokens: 64,
    maxRetries: 0,
  });

  test('gets a text and its usage', async () => {
    const { text, finishReason, usage } = await generateText({ ...asking(...COUNTED), instructions: 'Be brief.' });
    assert.deepEqual([text, finishReason, usage.outputTokens], ['One, two, three', 'stop', 3]);
    assert.ok((usage.inputTokens ?? 0) > 0);
  });

  test('streams a text in pieces', async () => {
    const result = streamText(asking(...SLOWLY));
    assert.deepEqual(await Array.fromAsync(result.textStream), COUNTED);
    assert.equal(await result.finishReason, 'stop');
    assert.equal((await result.totalUsage).outputTokens, 3);
  });

  test('sees what ended the answer', async () => {
    const { text, finishReason } = await generateText({ ...asking(...COUNTED), stopSequences: [', three'] });
    assert.deepEqual([text, finishReason], ['One, two', 'stop']);
    const cut = await generateText({ ...asking(...COUNTED), maxOutputTokens: 2 });
    assert.deepEqual([cut.text, cut.finishReason], ['One, two', 'length']);
  });

  for (const isStreamed of [false, true]) {
    test(`runs a loop over a tool${isStreamed ? ', streaming' : ''}`, async () => {
      const cities: string[] = [];
      const asked = {
        ...asking(callOf('get_weather', { city: 'Paris' })),
        tools: {
          get_weather: tool({
            description: 'Get the weather in a city.',
            inputSchema: z.object({ city: z.string() }),
            // The tool's answer is the script of the model's.
            execute: ({ city }) => {
              cities.push(city);
              return `\n${says(cities.length === 1 ? callOf('get_weather', { city: 'Rome' }) : 'Sunny in both.')}\n`;
            },
            toModelOutput: ({ output }) => ({ type: 'text' as const, value: String(output) }),
          }),
        },
        stopWhen: isStepCount(5),
      };
      const { steps, text, finishReason } = isStreamed ? streamText(asked) : await generateText(asked);
      assert.equal(await text, 'Sunny in both.');
      assert.deepEqual(cities, ['Paris', 'Rome']);
      assert.equal((await steps).length, 3);
      assert.equal(await finishReason, 'stop');
    });
  }

  test('gets a thought apart from the text, and sends it back', async () => {
    const thinking = { anthropic: { thinking: { type: 'enabled', budgetTokens: 1024 } } };
    const asked = { ...asking('It is easy.', PAUSE, '</think>', '7.'), providerOptions: thinking };
    const { reasoningText, text, responseMessages } = await generateText(asked);
    assert.deepEqual([reasoningText?.trim(), text.trim()], ['It is easy.', '7.']);
    const streamed = streamText(asked);
    assert.equal((await streamed.reasoningText)?.trim(), 'It is easy.');
    const { prompt: _, ...more } = asked;
    const messages = [...responseMessages, { role: 'user' as const, content: says('</think>', 'Yes.') }];
    const again = await generateText({ ...more, messages: [{ role: 'user', content: '3 + 4?' }, ...messages] });
    assert.equal(again.text.trim(), 'Yes.');
  });

  test('gets an object of a zod schema', async () => {
    const { output } = await generateText({
      ...asking('{"city": "Paris"}'),
      output: Output.object({ schema: z.object({ city: z.string() }) }),
    });
    assert.deepEqual(output, { city: 'Paris' });
  });

  test('is refused with status, and told whether to try again', async () => {
    const refusals = [
      { asked: { ...asking('Hi'), model: provider('no-such-model') }, status: 404, isRetryable: false },
      { asked: { ...asking('Hi'), stopSequences: [''] }, status: 400, isRetryable: false },
      { asked: asking({ fail: 'overloaded' }), status: 503, isRetryable: true },
    ];
    for (const { asked, status, isRetryable } of refusals) {
      await assert.rejects(generateText(asked), (error) => {
        assert.ok(APICallError.isInstance(error), String(error));
        assert.deepEqual([error.statusCode, error.isRetryable], [status, isRetryable]);
        assert.ok(error.message);
        return true;
      });
    }
  });
});
