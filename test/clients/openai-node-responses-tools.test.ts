import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, type OpenAI } from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
import { z } from 'zod';
import { callOf, says } from './script.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';
import { WEATHER } from './weather.ts';

type Input = OpenAI.Responses.ResponseInputItem;
type Call = OpenAI.Responses.ResponseFunctionToolCall;

const weather = { type: 'function' as const, strict: false, ...WEATHER };
const ASKED = { model: 'svc-plus', tools: [weather], reasoning: { effort: 'none' as const } };
const PARIS = { city: 'Paris' };
const CALLING = { ...ASKED, input: says(callOf(WEATHER.name, PARIS)) };

/** What the function says: the scripted model reads its next answer there. */
const resultOf = (call: Call, ...steps: unknown[]): OpenAI.Responses.ResponseInputItem.FunctionCallOutput => ({
  type: 'function_call_output',
  call_id: call.call_id,
  output: says(...steps),
});

describe('tools in responses with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted' });

  test('are called, and go on from the response that called them', async () => {
    const { responses } = openai.client;
    const first = await responses.create(CALLING);
    const call = onlyCall(first);
    assert.deepEqual([call.name, JSON.parse(call.arguments), call.status], [WEATHER.name, PARIS, 'completed']);
    assert.equal(first.output_text, '');
    const second = await responses.create({
      ...ASKED,
      previous_response_id: first.id,
      input: [resultOf(call, 'It is sunny.')],
    });
    assert.equal(second.output_text, 'It is sunny.');
  });

  test('are called event by event, and go on from the conversation they were called in', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({});
    const stream = responses.stream({ ...CALLING, conversation });
    const events = await Array.fromAsync(stream);
    const call = onlyCall(await stream.finalResponse());
    const deltas = events.flatMap((event) => (event.type === 'response.function_call_arguments.delta' ? [event] : []));
    assert.equal(deltas.map(({ delta }) => delta).join(''), call.arguments);
    assert.ok(deltas.every((event) => event.item_id === call.id));
    const done = events.find((event) => event.type === 'response.function_call_arguments.done');
    assert.deepEqual([done?.name, done?.arguments], [WEATHER.name, call.arguments]);

    const second = { ...ASKED, conversation, input: [resultOf(call, 'It is sunny.')] };
    assert.equal((await responses.stream(second).finalResponse()).output_text, 'It is sunny.');
    const items = await Array.fromAsync(conversations.items.list(conversation, { order: 'asc' }));
    assert.deepEqual(
      items.map((item) => item.type),
      ['message', 'function_call', 'function_call_output', 'message'],
    );
    const { parsed_arguments: _, ...told } = { parsed_arguments: null, ...call };
    assert.deepEqual(items[1], told);
  });

  test('replay over three turns as if all had been sent at once', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({});
    const sent: Input[] = [];
    for (const turn of [1, 2, 3]) {
      const input: Input[] = [{ role: 'user', content: CALLING.input }];
      const calling = await responses.create({ ...ASKED, conversation, input });
      const result = resultOf(onlyCall(calling), `It is sunny, for the time ${turn}.`);
      const told = await responses.create({ ...ASKED, conversation, input: [result] });
      sent.push(...input, ...toResponseInputItems([...calling.output, result, ...told.output]));
    }
    const last = { ...ASKED, input: says('You are welcome.') };
    const replayed = await responses.create({ ...last, conversation });
    const flat = await responses.create({ ...last, input: [...sent, { role: 'user', content: last.input }] });
    assert.equal(replayed.usage?.input_tokens, flat.usage?.input_tokens);

    const kept = await Array.fromAsync(conversations.items.list(conversation, { order: 'asc' }));
    assert.equal(kept.length, sent.length + 2);
    assert.deepEqual(kept.map(saidIn).slice(0, -2), sent.map(saidIn));
  });

  test('may be called twice in one answer', async () => {
    const { responses } = openai.client;
    const input = says(callOf(WEATHER.name, PARIS), '\n', callOf(WEATHER.name, { city: 'Lyon' }));
    const first = await responses.create({ ...ASKED, input, parallel_tool_calls: true });
    const calls = callsOf(first);
    assert.deepEqual(
      calls.map((call) => JSON.parse(call.arguments).city),
      ['Paris', 'Lyon'],
    );
    const results = calls.map((call, index) => resultOf(call, index === 0 ? 'Not this.' : 'Sunny in both.'));
    const second = await responses.create({ ...ASKED, input: results, previous_response_id: first.id });
    assert.equal(second.output_text, 'Sunny in both.');
  });

  test('have their arguments parsed by a zod schema, and answers too', async () => {
    const city = z.object({ city: z.string() });
    const { responses } = openai.client;
    const tools = [zodResponsesFunction({ ...WEATHER, parameters: city })];
    for (const { output } of [
      await responses.parse({ ...CALLING, tools }),
      await responses.stream({ ...CALLING, tools }).finalResponse(),
    ]) {
      assert.ok(output[0]?.type === 'function_call');
      assert.deepEqual(output[0].parsed_arguments, PARIS);
    }
    const text = { format: zodTextFormat(city, 'city') };
    const asked = { ...ASKED, tools: [], text, input: says('{"city":', '"Paris"}') };
    assert.deepEqual((await responses.parse(asked)).output_parsed, PARIS);
    assert.deepEqual((await responses.stream(asked).finalResponse()).output_parsed, PARIS);
  });

  test('that run elsewhere are told back, and named as what was not heard', async () => {
    const { data, response } = await openai.client.responses
      .create({ ...ASKED, tools: [{ type: 'image_generation' }, weather], input: says('No need.') })
      .withResponse();
    assert.deepEqual(
      data.tools.map(({ type }) => type),
      ['image_generation', 'function'],
    );
    assert.equal(decodeURIComponent(response.headers.get('x-parley-ignored') ?? ''), 'tools[0]');
    assert.equal(data.output_text, 'No need.');
  });

  test('are refused the result of a call that nobody made', () =>
    assert.rejects(
      openai.client.responses.create({
        ...ASKED,
        input: [{ type: 'function_call_output', call_id: 'call_of_nobody', output: '' }],
      }),
      (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.equal(error.param, 'input[0].call_id');
        assert.match(error.message, /call_of_nobody/);
        return true;
      },
    ));

  openai.testPublished([
    'ResponseFunctionCallArgumentsDeltaStreamingEvent',
    'ResponseFunctionCallArgumentsDoneStreamingEvent',
    'ResponseResource',
    'ConversationItemList',
  ]);
});

const callsOf = ({ output }: OpenAI.Responses.Response): Call[] =>
  output.flatMap((item) => (item.type === 'function_call' ? [item] : []));

function onlyCall(response: OpenAI.Responses.Response): Call {
  const [call, ...more] = callsOf(response);
  assert.ok(call, JSON.stringify(response.output));
  assert.deepEqual(more, []);
  return call;
}

/** An item without what the service adds to it. */
function saidIn(item: object): object {
  const { id: _, status: __, type = 'message', ...said } = item as Record<string, unknown>;
  const { content } = said;
  if (typeof content !== 'string') return { type, ...said };
  return { type, ...said, content: [{ type: 'input_text', text: content }] };
}
