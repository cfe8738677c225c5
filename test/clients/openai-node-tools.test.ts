import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type OpenAI from 'openai';
import { zodFunction } from 'openai/helpers/zod';
import { z } from 'zod';
import { getWeightsSkipReason } from '../models-folder.ts';
import { useOpenAI } from './use-openai.ts';
import { WEATHER_FUNCTION, WEATHER_QUESTION, WEATHER_RESULT } from './weather-function.ts';

type Message = OpenAI.ChatCompletionMessageParam;
type Call = OpenAI.ChatCompletionMessageFunctionToolCall;
type CallDelta = OpenAI.ChatCompletionChunk.Choice.Delta.ToolCall;

const MODEL = 'svc-tiny';

/** Calls a tool by its own decision, and answers after the result. */
const CAPABLE_MODEL = 'svc-plus';

const messages: Message[] = [{ role: 'user', content: WEATHER_QUESTION }];
const greeting: Message[] = [{ role: 'user', content: 'Hello!' }];
const weather = { type: 'function' as const, function: WEATHER_FUNCTION };
const time = { type: 'function' as const, function: { name: 'get_time', description: 'Get the time of day.' } };
const forceTool = (name: string) => ({ type: 'function' as const, function: { name } });

/** Greedy sampling, so that two calls can be compared. */
const question = { model: MODEL, messages, temperature: 0, max_tokens: 80 };

/** A tool with an array argument: the service streams the arguments of such tools at once. */
const trip = {
  type: 'function' as const,
  function: {
    name: 'plan_trip',
    description: 'Plan a trip through some cities.',
    parameters: {
      type: 'object',
      properties: { cities: { type: 'array', items: { type: 'string' }, minItems: 2, maxItems: 3 } },
      required: ['cities'],
    },
  },
};

describe(
  'tools with the openai client for Node',
  { skip: getWeightsSkipReason(MODEL) || getWeightsSkipReason(CAPABLE_MODEL) },
  () => {
    const openai = useOpenAI();

    test('are called when they are useful', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        model: CAPABLE_MODEL,
        tools: [weather],
      });
      const [call, ...more] = getCalls(choices[0]);
      assert.equal(more.length, 0);
      assert.equal(call?.function.name, WEATHER_FUNCTION.name);
      assert.equal(typeof parseArguments(call).city, 'string');
    });

    test('are the same in a stream as in the whole answer', async () => {
      const params = { ...question, tools: [weather, time], tool_choice: forceTool(WEATHER_FUNCTION.name) };
      const [whole] = getCalls((await openai.client.chat.completions.create(params)).choices[0]);
      const chunks = await Array.fromAsync(await openai.client.chat.completions.create({ ...params, stream: true }));
      const deltas = getDeltas(chunks);
      const [first, ...later] = deltas;
      assert.deepEqual(
        [first?.index, first?.type, first?.function?.name, chunks[0]?.choices[0]?.delta.role],
        [0, 'function', WEATHER_FUNCTION.name, 'assistant'],
      );
      assert.ok(first?.id);
      for (const delta of later) {
        assert.deepEqual(Object.keys(delta).toSorted(), ['function', 'index']);
        assert.deepEqual(Object.keys(delta.function ?? {}), ['arguments']);
      }
      assert.ok(later.length > 1, 'simple arguments did not arrive in pieces');
      assert.equal(joinArguments(deltas), whole?.function.arguments);
      assert.deepEqual(
        chunks.flatMap((chunk) => chunk.choices[0]?.finish_reason ?? []),
        ['tool_calls'],
      );
    });

    test('are called at least once when a call is required', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        messages: greeting,
        tools: [weather, time],
        tool_choice: 'required',
      });
      const calls = getCalls(choices[0]);
      assert.equal(calls.length, 1);
      assert.ok([WEATHER_FUNCTION.name, 'get_time'].includes(calls[0]?.function.name ?? ''));
    });

    test('may be called in parallel when that is allowed', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        messages: [{ role: 'user', content: 'What is the weather in Paris and in London? Look up both.' }],
        tools: [weather],
        tool_choice: 'required',
        parallel_tool_calls: true,
        max_tokens: 120,
      });
      const calls = getCalls(choices[0]);
      assert.equal(new Set(calls.map(({ id }) => id)).size, calls.length);
      for (const call of calls) assert.equal(typeof parseArguments(call).city, 'string');
    });

    test('are not called when tool_choice is none', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        tools: [weather],
        tool_choice: 'none',
        max_tokens: 16,
      });
      assert.equal(choices[0]?.message.tool_calls ?? null, null);
      assert.notEqual(choices[0]?.finish_reason, 'tool_calls');
      assert.ok(choices[0]?.message.content);
    });

    test('without parameters are called without arguments', async () => {
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        tools: [time],
        tool_choice: forceTool('get_time'),
      });
      assert.deepEqual(parseArguments(getCalls(choices[0])[0]), {});
    });

    test('get complex arguments at once, and in pieces with tool_stream', async () => {
      const params = {
        ...question,
        messages: [{ role: 'user', content: 'Plan a trip to Rome and Oslo.' }] as Message[],
        tools: [trip],
        tool_choice: forceTool('plan_trip'),
        stream: true as const,
      };
      const streamArguments = async (more: object): Promise<string[]> => {
        const chunks = await Array.fromAsync(await openai.client.chat.completions.create({ ...params, ...more }));
        return getDeltas(chunks).flatMap((delta) => delta.function?.arguments || []);
      };
      const [whole, ...rest] = await streamArguments({});
      assert.deepEqual(rest, []);
      const pieces = await streamArguments({ tool_stream: true });
      assert.ok(pieces.length > 1);
      assert.equal(pieces.join(''), whole);
      const { cities } = z.object({ cities: z.array(z.string()).min(2).max(3) }).parse(JSON.parse(whole ?? ''));
      assert.ok(cities.length >= 2);
    });

    for (const stream of [false, true]) {
      test(`are run by the client's tool runner${stream ? ', streamed' : ''}`, async () => {
        const cities: string[] = [];
        const runnable = {
          type: 'function' as const,
          function: {
            ...WEATHER_FUNCTION,
            parse: (text: string): { city: string } => JSON.parse(text),
            function: ({ city }: { city: string }) => {
              cities.push(city);
              return WEATHER_RESULT;
            },
          },
        };
        const params = { ...question, model: CAPABLE_MODEL, tools: [runnable] };
        const limits = { maxChatCompletions: 4 };
        const runner = stream
          ? openai.client.chat.completions.runTools({ ...params, stream: true }, limits)
          : openai.client.chat.completions.runTools(params, limits);
        assert.ok(await runner.finalContent(), 'no answer after the tool result');
        assert.ok(cities.length > 0 && cities.every((city) => typeof city === 'string'));
        assert.equal(await runner.finalFunctionToolCallResult(), JSON.stringify(WEATHER_RESULT));
        assert.deepEqual(
          runner.messages.slice(0, 3).map(({ role }) => role),
          ['user', 'assistant', 'tool'],
        );
        assert.equal((await runner.finalChatCompletion()).choices[0]?.finish_reason, 'stop');
      });
    }

    test("emit the events of the client's stream collector", async () => {
      const seen: { delta: string; snapshot: string }[] = [];
      const done: { name: string; index: number; arguments: string }[] = [];
      const stream = openai.client.chat.completions
        .stream({ ...question, tools: [weather], tool_choice: 'required' })
        .on('tool_calls.function.arguments.delta', ({ arguments_delta: delta, arguments: snapshot }) => {
          seen.push({ delta, snapshot });
        })
        .on('tool_calls.function.arguments.done', ({ name, index, arguments: text }) => {
          done.push({ name, index, arguments: text });
        });
      const [call] = getCalls((await stream.finalChatCompletion()).choices[0]);
      assert.deepEqual(done, [{ name: WEATHER_FUNCTION.name, index: 0, arguments: call?.function.arguments }]);
      assert.equal(seen.map(({ delta }) => delta).join(''), call?.function.arguments);
      assert.equal(seen.at(-1)?.snapshot, call?.function.arguments);
    });

    test('declared with zod are parsed with zod', async () => {
      const Forecast = z.object({
        city: z.string().max(40),
        unit: z.enum(['celsius', 'fahrenheit']),
        days: z.int().min(1).max(7),
        note: z.string().max(20).nullable(),
      });
      const completion = await openai.client.chat.completions.parse({
        ...question,
        messages: [{ role: 'user', content: 'Give me the forecast for Paris for three days in celsius.' }],
        tools: [zodFunction({ name: 'get_forecast', description: 'Get a forecast.', parameters: Forecast })],
        tool_choice: forceTool('get_forecast'),
      });
      const [call] = completion.choices[0]?.message.tool_calls ?? [];
      assert.equal(completion.choices[0]?.finish_reason, 'tool_calls');
      assert.deepEqual(Forecast.parse(call?.function.parsed_arguments), JSON.parse(call?.function.arguments ?? ''));
    });

    test('accept their results by tool_call_id', async () => {
      const params = { ...question, tools: [weather], max_tokens: 48 };
      const first = await openai.client.chat.completions.create({ ...params, tool_choice: 'required' });
      const message = first.choices[0]?.message ?? assert.fail('no message');
      const [call] = getCalls(first.choices[0]);
      // The client sends the message back unchanged, with all fields that are null.
      const result = { role: 'tool' as const, tool_call_id: call?.id ?? '', content: JSON.stringify(WEATHER_RESULT) };
      const second = await openai.client.chat.completions.create({
        ...params,
        messages: [...messages, message, result],
      });
      const [choice] = second.choices;
      assert.ok(choice?.message.content || choice?.message.tool_calls?.length);
      assert.ok((second.usage?.prompt_tokens ?? 0) > (first.usage?.prompt_tokens ?? 0));
    });

    test('accept invalid JSON as arguments in the history', async () => {
      const broken = {
        id: 'call_1',
        type: 'function' as const,
        function: { name: WEATHER_FUNCTION.name, arguments: '{"city": "Par' },
      };
      const { choices } = await openai.client.chat.completions.create({
        ...question,
        max_tokens: 8,
        tools: [weather],
        messages: [
          ...messages,
          { role: 'assistant', content: null, tool_calls: [broken] },
          { role: 'tool', tool_call_id: 'call_1', content: 'The arguments were cut off.' },
        ],
      });
      assert.ok(choices[0]?.finish_reason);
    });

    test('may be called after a thought', async () => {
      const thinking = { enable_thinking: true, thinking_budget: 16 };
      const { choices, usage } = await openai.client.chat.completions.create({
        ...question,
        ...thinking,
        tools: [weather],
      });
      const [choice] = choices;
      const thought = (choice?.message as { reasoning_content?: string } | undefined)?.reasoning_content;
      assert.ok(thought, 'no thought');
      assert.ok(
        !/<\/?(think|tool_call)>/.test(thought + choice?.message.content),
        'the answer contains template markup',
      );
      assert.ok((usage?.completion_tokens_details?.reasoning_tokens ?? 0) > 0);
      assert.equal(choice?.finish_reason === 'tool_calls', Boolean(choice?.message.tool_calls?.length));
    });
  },
);

/** Returns the tool calls of a choice. Asserts that there is one and that the finish reason is `tool_calls`. */
function getCalls(choice: OpenAI.ChatCompletion.Choice | undefined): Call[] {
  assert.equal(choice?.finish_reason, 'tool_calls', JSON.stringify(choice));
  const calls = choice?.message.tool_calls ?? [];
  assert.ok(calls.length > 0, 'no tool call');
  return calls.map((call) => {
    assert.ok(call.type === 'function' && call.id);
    return call;
  });
}

const parseArguments = (call: Call | undefined): Record<string, unknown> => JSON.parse(call?.function.arguments ?? '');

const getDeltas = (chunks: readonly OpenAI.ChatCompletionChunk[]): CallDelta[] =>
  chunks.flatMap(({ choices }) => choices[0]?.delta.tool_calls ?? []);

const joinArguments = (deltas: readonly CallDelta[]): string =>
  deltas.map((delta) => delta.function?.arguments ?? '').join('');
