import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, type OpenAI } from 'openai';
import { zodResponsesFunction, zodTextFormat } from 'openai/helpers/zod';
import { toResponseInputItems } from 'openai/lib/responses/ResponseInputItems';
import { z } from 'zod';
import { encodeToolCall, encodeScript } from './engine-script.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';
import { WEATHER_FUNCTION } from './weather-function.ts';

type Input = OpenAI.Responses.ResponseInputItem;
type Call = OpenAI.Responses.ResponseFunctionToolCall;

const weather = { type: 'function' as const, strict: false, ...WEATHER_FUNCTION };
const REQUEST = { model: 'svc-plus', tools: [weather], reasoning: { effort: 'none' as const } };
const PARIS = { city: 'Paris' };
const CALL_REQUEST = { ...REQUEST, input: encodeScript(encodeToolCall(WEATHER_FUNCTION.name, PARIS)) };

/** The result of a function call. The scripted model reads its next answer from it. */
const createResult = (call: Call, ...steps: unknown[]): OpenAI.Responses.ResponseInputItem.FunctionCallOutput => ({
  type: 'function_call_output',
  call_id: call.call_id,
  output: encodeScript(...steps),
});

describe('tools in responses with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted' });

  test('are called, and the next response continues from the call', async () => {
    const { responses } = openai.client;
    const first = await responses.create(CALL_REQUEST);
    const call = getOnlyCall(first);
    assert.deepEqual([call.name, JSON.parse(call.arguments), call.status], [WEATHER_FUNCTION.name, PARIS, 'completed']);
    assert.equal(first.output_text, '');
    const second = await responses.create({
      ...REQUEST,
      previous_response_id: first.id,
      input: [createResult(call, 'It is sunny.')],
    });
    assert.equal(second.output_text, 'It is sunny.');
  });

  test('are called in a stream, and the conversation continues from the call', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({});
    const stream = responses.stream({ ...CALL_REQUEST, conversation });
    const events = await Array.fromAsync(stream);
    const call = getOnlyCall(await stream.finalResponse());
    const deltas = events.flatMap((event) => (event.type === 'response.function_call_arguments.delta' ? [event] : []));
    assert.equal(deltas.map(({ delta }) => delta).join(''), call.arguments);
    assert.ok(deltas.every((event) => event.item_id === call.id));
    const done = events.find((event) => event.type === 'response.function_call_arguments.done');
    assert.deepEqual([done?.name, done?.arguments], [WEATHER_FUNCTION.name, call.arguments]);

    const second = { ...REQUEST, conversation, input: [createResult(call, 'It is sunny.')] };
    assert.equal((await responses.stream(second).finalResponse()).output_text, 'It is sunny.');
    const items = await Array.fromAsync(conversations.items.list(conversation, { order: 'asc' }));
    assert.deepEqual(
      items.map((item) => item.type),
      ['message', 'function_call', 'function_call_output', 'message'],
    );
    const { parsed_arguments: _, ...storedCall } = { parsed_arguments: null, ...call };
    assert.deepEqual(items[1], storedCall);
  });

  test('give the same prompt over three stored turns as in one request', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({});
    const sent: Input[] = [];
    for (const turn of [1, 2, 3]) {
      const input: Input[] = [{ role: 'user', content: CALL_REQUEST.input }];
      const calling = await responses.create({ ...REQUEST, conversation, input });
      const result = createResult(getOnlyCall(calling), `It is sunny, for the time ${turn}.`);
      const answer = await responses.create({ ...REQUEST, conversation, input: [result] });
      sent.push(...input, ...toResponseInputItems([...calling.output, result, ...answer.output]));
    }
    const last = { ...REQUEST, input: encodeScript('You are welcome.') };
    const replayed = await responses.create({ ...last, conversation });
    const flat = await responses.create({ ...last, input: [...sent, { role: 'user', content: last.input }] });
    assert.equal(replayed.usage?.input_tokens, flat.usage?.input_tokens);

    const stored = await Array.fromAsync(conversations.items.list(conversation, { order: 'asc' }));
    assert.equal(stored.length, sent.length + 2);
    assert.deepEqual(stored.map(normalizeItem).slice(0, -2), sent.map(normalizeItem));
  });

  test('may be called twice in one answer', async () => {
    const { responses } = openai.client;
    const input = encodeScript(
      encodeToolCall(WEATHER_FUNCTION.name, PARIS),
      '\n',
      encodeToolCall(WEATHER_FUNCTION.name, { city: 'Lyon' }),
    );
    const first = await responses.create({ ...REQUEST, input, parallel_tool_calls: true });
    const calls = findCalls(first);
    assert.deepEqual(
      calls.map((call) => JSON.parse(call.arguments).city),
      ['Paris', 'Lyon'],
    );
    const results = calls.map((call, index) => createResult(call, index === 0 ? 'Not this.' : 'Sunny in both.'));
    const second = await responses.create({ ...REQUEST, input: results, previous_response_id: first.id });
    assert.equal(second.output_text, 'Sunny in both.');
  });

  test('have their arguments parsed by a zod schema, and answers too', async () => {
    const city = z.object({ city: z.string() });
    const { responses } = openai.client;
    const tools = [zodResponsesFunction({ ...WEATHER_FUNCTION, parameters: city })];
    for (const { output } of [
      await responses.parse({ ...CALL_REQUEST, tools }),
      await responses.stream({ ...CALL_REQUEST, tools }).finalResponse(),
    ]) {
      assert.ok(output[0]?.type === 'function_call');
      assert.deepEqual(output[0].parsed_arguments, PARIS);
    }
    const text = { format: zodTextFormat(city, 'city') };
    const params = { ...REQUEST, tools: [], text, input: encodeScript('{"city":', '"Paris"}') };
    assert.deepEqual((await responses.parse(params)).output_parsed, PARIS);
    assert.deepEqual((await responses.stream(params).finalResponse()).output_parsed, PARIS);
  });

  test('returns tools of an unsupported type, and names them as ignored', async () => {
    const { data, response } = await openai.client.responses
      .create({ ...REQUEST, tools: [{ type: 'image_generation' }, weather], input: encodeScript('No need.') })
      .withResponse();
    assert.deepEqual(
      data.tools.map(({ type }) => type),
      ['image_generation', 'function'],
    );
    assert.equal(decodeURIComponent(response.headers.get('x-parley-ignored') ?? ''), 'tools[0]');
    assert.equal(data.output_text, 'No need.');
  });

  test('are refused with the result of an unknown call', () =>
    assert.rejects(
      openai.client.responses.create({
        ...REQUEST,
        input: [{ type: 'function_call_output', call_id: 'call_unknown', output: '' }],
      }),
      (error) => {
        assert.ok(error instanceof BadRequestError, String(error));
        assert.equal(error.param, 'input[0].call_id');
        assert.match(error.message, /call_unknown/);
        return true;
      },
    ));

  openai.testPublishedShapes([
    'ResponseFunctionCallArgumentsDeltaStreamingEvent',
    'ResponseFunctionCallArgumentsDoneStreamingEvent',
    'ResponseResource',
    'ConversationItemList',
  ]);
});

const findCalls = ({ output }: OpenAI.Responses.Response): Call[] =>
  output.flatMap((item) => (item.type === 'function_call' ? [item] : []));

function getOnlyCall(response: OpenAI.Responses.Response): Call {
  const [call, ...more] = findCalls(response);
  assert.ok(call, JSON.stringify(response.output));
  assert.deepEqual(more, []);
  return call;
}

/** Removes the fields that the service adds to an item. */
function normalizeItem(item: object): object {
  const { id: _, status: __, type = 'message', ...fields } = item as Record<string, unknown>;
  const { content } = fields;
  if (typeof content !== 'string') return { type, ...fields };
  return { type, ...fields, content: [{ type: 'input_text', text: content }] };
}
