import assert from 'node:assert/strict';
import { after, before, describe, test } from 'node:test';
import { createOpenAICompatible } from '@ai-sdk/openai-compatible';
import { APICallError, generateText, stepCountIs, NoObjectGeneratedError, Output, streamText, tool } from 'ai';
import type { LanguageModel } from 'ai';
import { z } from 'zod';
import { getWeightsSkipReason } from '../models-folder.ts';
import { type Parley, startParley } from './harness.ts';
import { PERSON_TEXT, PersonSchema } from './person-schema.ts';
import { WEATHER_FUNCTION, WEATHER_QUESTION, WEATHER_RESULT } from './weather-function.ts';

const MODEL = 'svc-plus';

describe('the Vercel AI SDK', { skip: getWeightsSkipReason(MODEL) || getWeightsSkipReason('svc-tiny') }, () => {
  let parley: Parley;
  let model: LanguageModel;
  /** The smallest model, for objects whose schema bounds their length and whose content does not matter. */
  let tinyModel: LanguageModel;
  before(async () => {
    parley = await startParley({ withTinyModel: true });
    const provider = createOpenAICompatible({
      name: 'parley',
      baseURL: parley.baseUrl,
      apiKey: parley.key,
      supportsStructuredOutputs: true,
      includeUsage: true,
    });
    model = provider(MODEL);
    tinyModel = provider('svc-tiny');
  });
  after(() => parley?.stop());

  /** Greedy sampling, without retries. */
  const createSettings = () => ({ model, temperature: 0, maxOutputTokens: 120, maxRetries: 0 });

  /** Options of a tool loop whose first step must call the tool. The loop stops after four steps. */
  const createToolLoop = (cities: string[]) => ({
    ...createSettings(),
    maxOutputTokens: 60,
    prompt: WEATHER_QUESTION,
    tools: {
      get_weather: tool({
        description: WEATHER_FUNCTION.description,
        inputSchema: z.object({ city: z.string().max(40) }),
        execute: ({ city }) => {
          cities.push(city);
          return WEATHER_RESULT;
        },
      }),
    },
    stopWhen: stepCountIs(4),
    prepareStep: ({ stepNumber }: { stepNumber: number }) =>
      stepNumber === 0 ? { toolChoice: 'required' as const } : {},
  });

  test('gets a text and its usage', async () => {
    const { text, finishReason, usage } = await generateText({
      ...createSettings(),
      prompt: 'What is the capital of France?',
      maxOutputTokens: 16,
    });
    assert.ok(text);
    assert.ok(['stop', 'length'].includes(finishReason));
    assert.ok((usage.inputTokens ?? 0) > 10 && (usage.outputTokens ?? 0) > 0);
  });

  test('runs a tool loop', async () => {
    const cities: string[] = [];
    const { steps, text, finishReason } = await generateText(createToolLoop(cities));
    assert.ok(steps.length >= 2);
    assert.equal(steps[0]?.finishReason, 'tool-calls');
    assert.deepEqual(
      steps[0]?.toolResults.map(({ toolName, input, output }) => ({ toolName, input, output })),
      [{ toolName: WEATHER_FUNCTION.name, input: { city: cities[0] }, output: WEATHER_RESULT }],
    );
    assert.equal(finishReason, 'stop');
    assert.ok(text, 'no answer after the tool result');
  });

  test('streams a tool loop', async () => {
    const cities: string[] = [];
    const result = streamText(createToolLoop(cities));
    const parts = await Array.fromAsync(result.fullStream);
    const inputs = parts.flatMap((part) => (part.type === 'tool-input-delta' ? part.delta : []));
    const calls = parts.flatMap((part) => (part.type === 'tool-call' ? part : []));
    assert.deepEqual(JSON.parse(inputs.slice(0, inputs.findIndex((piece) => piece.endsWith('}')) + 1).join('')), {
      city: cities[0],
    });
    assert.deepEqual(calls[0]?.input, { city: cities[0] });
    const kinds = parts.map(({ type }) => type);
    const order = ['tool-input-start', 'tool-input-delta', 'tool-call', 'tool-result', 'text-delta'] as const;
    assert.deepEqual(
      order.toSorted((left, right) => kinds.indexOf(left) - kinds.indexOf(right)),
      order,
    );
    assert.ok(!kinds.includes('error') && !kinds.includes('tool-error'), kinds.join());
    assert.ok((await result.steps).length >= 2);
    assert.equal(await result.finishReason, 'stop');
    assert.ok(((await result.totalUsage).outputTokens ?? 0) > 0);
  });

  test('gets an object of a zod schema', async () => {
    const { output, finishReason } = await generateText({
      ...createSettings(),
      model: tinyModel,
      maxOutputTokens: 300,
      prompt: PERSON_TEXT,
      output: Output.object({ schema: PersonSchema, name: 'person' }),
    });
    assert.equal(finishReason, 'stop');
    assert.ok(PersonSchema.parse(output).name);
  });

  test('streams growing partial objects of a zod schema', async () => {
    const { partialOutputStream, output } = streamText({
      ...createSettings(),
      model: tinyModel,
      maxOutputTokens: 300,
      prompt: PERSON_TEXT,
      output: Output.object({ schema: PersonSchema, name: 'person' }),
    });
    const partial = await Array.fromAsync(partialOutputStream);
    const sizes = partial.map((value) => JSON.stringify(value).length);
    assert.ok(sizes.length > 3);
    assert.deepEqual(
      sizes.toSorted((left, right) => left - right),
      sizes,
    );
    assert.deepEqual(PersonSchema.parse(await output), partial.at(-1));
  });

  test('gets an array and one of several choices', async () => {
    const list = await generateText({
      ...createSettings(),
      prompt: 'Name two cities in France, with their number of inhabitants.',
      output: Output.array({ element: z.object({ city: z.string().max(30), inhabitants: z.int().min(0).max(1e8) }) }),
      maxOutputTokens: 200,
      // Otherwise the smallest model may repeat an element up to the token limit.
      frequencyPenalty: 2,
    });
    assert.ok(list.output.every(({ city, inhabitants }) => typeof city === 'string' && Number.isInteger(inhabitants)));
    const word = await generateText({
      ...createSettings(),
      prompt: 'Is it warm or cold in the Sahara at noon?',
      output: Output.choice({ options: ['warm', 'cold'] }),
    });
    assert.ok(['warm', 'cold'].includes(word.output));
  });

  test('raises NoObjectGeneratedError when the token limit cuts an object', async () => {
    await assert.rejects(async () => {
      const { output } = await generateText({
        ...createSettings(),
        model: tinyModel,
        prompt: PERSON_TEXT,
        maxOutputTokens: 4,
        output: Output.object({ schema: PersonSchema }),
      });
      return output;
    }, NoObjectGeneratedError);
  });

  test('gets a thought as reasoning, before the answer', async () => {
    const thinking = {
      ...createSettings(),
      prompt: 'Tom has 3 apples and buys 4 more. How many has he?',
      maxOutputTokens: 16,
      providerOptions: { parley: { enable_thinking: true, thinking_budget: 12 } },
    };
    const { text, reasoningText, usage } = await generateText(thinking);
    assert.ok(reasoningText && text);
    assert.ok((usage.outputTokenDetails.reasoningTokens ?? 0) > 0);

    const parts = await Array.fromAsync(streamText(thinking).fullStream);
    const kinds = parts.map(({ type }) => type);
    assert.ok(kinds.includes('reasoning-delta') && kinds.includes('text-delta'), kinds.join());
    assert.ok(kinds.lastIndexOf('reasoning-delta') < kinds.indexOf('text-delta'));
    assert.equal(parts.map((part) => (part.type === 'reasoning-delta' ? part.text : '')).join(''), reasoningText);
  });

  test('raises APICallError that names an unsupported schema', async () => {
    const inputSchema = z.object({ city: z.string().regex(/(?<=x)y/) });
    await assert.rejects(
      generateText({ ...createSettings(), prompt: WEATHER_QUESTION, tools: { get_weather: tool({ inputSchema }) } }),
      (error) => {
        assert.ok(APICallError.isInstance(error), String(error));
        assert.equal(error.statusCode, 400);
        assert.match(error.message, /tools\[0\]\.function\.parameters/);
        return true;
      },
    );
  });
});
