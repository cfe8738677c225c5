import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { APIUserAbortError, BadRequestError, ConflictError, NotFoundError, OpenAI } from 'openai';
import { until } from '../until.ts';
import { encodeScript } from './engine-script.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

type Params = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Input = OpenAI.Responses.ResponseInputItem;
type Event = OpenAI.Responses.ResponseStreamEvent;

const MODEL = 'svc-plus';
const HELLO = { model: MODEL, input: encodeScript('Hello ', 'there.'), reasoning: { effort: 'none' } } satisfies Params;

/** Outputs a text, and then hangs until it is cancelled. */
const HANGING = { ...HELLO, input: encodeScript('One ', { hang: true }) };

/**
 * Longest wait for a free conversation on a busy machine, in ms. Shorter than the lease of a turn whose process died.
 */
const FREE_MS_MAX = 10_000;

describe('responses with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted', sequences: 4 });

  test('answer a text, and repeat the fields of the request', async () => {
    const response = await openai.client.responses.create({ ...HELLO, metadata: { a: 'b' }, temperature: 0.5 });
    assert.match(response.id, /^resp_/);
    assert.equal(response.output_text, 'Hello there.');
    assert.deepEqual([response.status, response.model, response.error], ['completed', MODEL, null]);
    assert.deepEqual([response.metadata, response.temperature], [{ a: 'b' }, 0.5]);
    const { usage } = response;
    assert.ok(usage && usage.input_tokens > 0 && usage.output_tokens > 0);
    assert.equal(usage.total_tokens, usage.input_tokens + usage.output_tokens);
  });

  test('answer a list of items of every kind', async () => {
    const input: Input[] = [
      { role: 'developer', content: 'Be brief.' },
      { role: 'user', content: [{ type: 'input_text', text: 'What is the weather?' }] },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'Look it up.' }] },
      { type: 'function_call', call_id: 'call_1', name: 'get_weather', arguments: '{}' },
      { type: 'function_call_output', call_id: 'call_1', output: 'sunny' },
      { type: 'message', role: 'assistant', content: 'It is sunny.' },
      { role: 'user', content: HELLO.input },
    ];
    const response = await openai.client.responses.create({ ...HELLO, input });
    assert.equal(response.output_text, 'Hello there.');
    const { data } = await openai.client.responses.inputItems.list(response.id, { order: 'asc' });
    assert.deepEqual(
      data.map(({ type }) => type),
      ['message', 'message', 'reasoning', 'function_call', 'function_call_output', 'message', 'message'],
    );
  });

  test('are streamed event by event, and end with the stored response', async () => {
    const stream = openai.client.responses.stream(HELLO);
    const events = await Array.fromAsync(stream);
    assert.deepEqual(getTypes(events), [
      'response.created',
      'response.in_progress',
      'response.output_item.added',
      'response.content_part.added',
      'response.output_text.delta',
      'response.output_text.delta',
      'response.output_text.done',
      'response.content_part.done',
      'response.output_item.done',
      'response.completed',
    ]);
    const final = await stream.finalResponse();
    assert.equal(final.output_text, 'Hello there.');
    const stored = await openai.client.responses.retrieve(final.id);
    assert.deepEqual(
      [stored.output_text, stored.output.map(getId), stored.usage],
      ['Hello there.', final.output.map(getId), final.usage],
    );
    // A collected stream equals the response of a request without streaming.
    const { output } = await openai.client.responses.create(HELLO);
    assert.deepEqual(
      output.map((item) => ({ ...item, id: '' })),
      stored.output.map((item) => ({ ...item, id: '' })),
    );
  });

  test('call the listeners of the helper in order', async () => {
    const received: string[] = [];
    const final = await openai.client.responses
      .stream(HELLO)
      .on('response.output_text.delta', ({ snapshot }) => received.push(snapshot))
      .on('response.completed', () => received.push('completed'))
      .finalResponse();
    assert.deepEqual(received, ['Hello ', final.output_text, 'completed']);
  });

  for (const isStreamed of [false, true]) {
    test(`contain the thought before the answer${isStreamed ? ', in a stream too' : ''}`, async () => {
      const input = encodeScript('Easy', '.', '</think>', 'Done.');
      const params = { ...HELLO, input, reasoning: { effort: 'high' } } satisfies Params;
      const response = isStreamed
        ? await openai.client.responses.stream(params).finalResponse()
        : await openai.client.responses.create(params);
      const [thought, message] = response.output;
      assert.ok(thought?.type === 'reasoning' && message?.type === 'message');
      assert.deepEqual(thought.summary, [{ type: 'summary_text', text: 'Easy.' }]);
      assert.equal(response.output_text.trim(), 'Done.');
      assert.ok((response.usage?.output_tokens_details.reasoning_tokens ?? 0) > 0);
    });

    test(`are incomplete at the token limit${isStreamed ? ', in a stream too' : ''}`, async () => {
      const params = { ...HELLO, input: encodeScript('a ', 'b ', 'c ', 'd '), max_output_tokens: 2 };
      const response = isStreamed
        ? await openai.client.responses.stream(params).finalResponse()
        : await openai.client.responses.create(params);
      assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
      assert.equal(response.output_text, 'a b ');
      assert.equal((await openai.client.responses.retrieve(response.id)).status, 'incomplete');
    });
  }

  test('continue from each other with the whole history', async () => {
    const { responses } = openai.client;
    const first = await responses.create(HELLO);
    const second = await responses.create({ ...HELLO, input: encodeScript('Again.'), previous_response_id: first.id });
    const third = { ...HELLO, input: 'Once more.', previous_response_id: second.id };
    const chained = await responses.create(third);
    assert.equal(chained.previous_response_id, second.id);
    const flat = await responses.create({
      ...HELLO,
      input: [
        { role: 'user', content: HELLO.input },
        { role: 'assistant', content: 'Hello there.' },
        { role: 'user', content: encodeScript('Again.') },
        { role: 'assistant', content: 'Again.' },
        { role: 'user', content: 'Once more.' },
      ],
    });
    assert.equal(chained.usage?.input_tokens, flat.usage?.input_tokens);
    const counted = await responses.inputTokens.count(third);
    assert.deepEqual(counted, { object: 'response.input_tokens', input_tokens: flat.usage?.input_tokens });
  });

  test('do not inherit the instructions of the previous response', async () => {
    const { responses } = openai.client;
    const first = await responses.create({ ...HELLO, instructions: 'Speak like a pirate, always and everywhere.' });
    const count = (id: string) => responses.inputTokens.count({ ...HELLO, previous_response_id: id });
    const plain = await responses.create(HELLO);
    assert.deepEqual(await count(first.id), await count(plain.id));
  });

  test('are appended to their conversation, and start with its items', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({ items: [{ role: 'system', content: 'Be brief.' }] });
    const before = await responses.inputTokens.count({ ...HELLO, conversation: id });
    const first = await responses.create({ ...HELLO, conversation: id });
    assert.equal(first.usage?.input_tokens, before.input_tokens);
    assert.deepEqual(first.conversation, { id });
    const second = await responses
      .stream({ ...HELLO, input: encodeScript('Again.'), conversation: { id } })
      .finalResponse();
    assert.ok((second.usage?.input_tokens ?? 0) > (first.usage?.input_tokens ?? 0));
    const items = await Array.fromAsync(conversations.items.list(id, { order: 'asc', limit: 2 }));
    assert.deepEqual(
      items.map((item) => item.type === 'message' && item.role),
      ['system', 'user', 'assistant', 'user', 'assistant'],
    );
    assert.deepEqual([items[2]?.id, items[4]?.id], [first.output[0]?.id, second.output[0]?.id]);

    await conversations.delete(id);
    assert.equal((await responses.retrieve(first.id)).output_text, 'Hello there.');
  });

  test('list their input items page by page', async () => {
    const input: Input[] = ['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content }));
    const { responses } = openai.client;
    const { id } = await responses.create({ ...HELLO, input });
    const ascending = await Array.fromAsync(responses.inputItems.list(id, { order: 'asc', limit: 2 }));
    assert.deepEqual(ascending.map(getText), ['a', 'b', 'c', 'd', 'e']);
    const descending = await Array.fromAsync(responses.inputItems.list(id));
    assert.deepEqual(descending.map(getText), ['e', 'd', 'c', 'b', 'a']);
    const { data } = await responses.inputItems.list(id, { order: 'asc', after: ascending[3]?.id ?? '' });
    assert.deepEqual(data.map(getText), ['e']);
  });

  test('are not found after deletion, nor with store false', async () => {
    const { responses } = openai.client;
    const { id } = await responses.create(HELLO);
    await responses.delete(id);
    const { id: passing } = await responses.create({ ...HELLO, store: false });
    for (const gone of [id, passing]) {
      await assert.rejects(responses.retrieve(gone), NotFoundError);
      await assert.rejects(responses.create({ ...HELLO, previous_response_id: gone }), (error) => {
        assert.ok(error instanceof NotFoundError, String(error));
        assert.match(error.message, new RegExp(gone));
        return true;
      });
    }
  });

  test('finds no responses of another workspace', async () => {
    const { id } = await openai.client.responses.create(HELLO);
    const { id: conversation } = await openai.client.conversations.create({});
    const { responses } = openai.otherWorkspaceClient;
    for (const attempt of [
      () => responses.retrieve(id),
      () => responses.delete(id),
      () => responses.inputItems.list(id),
      () => responses.create({ ...HELLO, previous_response_id: id }),
      () => responses.create({ ...HELLO, conversation }),
      () => responses.inputTokens.count({ ...HELLO, conversation }),
      () => responses.stream({ ...HELLO, conversation }).finalResponse(),
    ]) {
      await assert.rejects(attempt(), NotFoundError);
    }
    assert.equal((await openai.client.responses.retrieve(id)).id, id);
  });

  for (const [fault, fields, param] of [
    [
      'both a conversation and a previous response',
      { conversation: 'conv_1', previous_response_id: 'resp_1' },
      'previous_response_id',
    ],
    ['background together with store false', { background: true, store: false }, 'store'],
    [
      'a file URL',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/a' }] }] },
      'input[0].content[0].file_url',
    ],
    ['a temperature of 3', { temperature: 3 }, 'temperature'],
    ['an empty input', { input: [] }, 'input'],
  ] as const) {
    test(`are refused with ${fault}, naming the field`, async () => {
      const wrong: Omit<Params, 'stream'> = { ...HELLO, ...(fields as object) };
      for (const attempt of [
        () => openai.client.responses.create(wrong),
        () => openai.client.responses.stream(wrong).finalResponse(),
      ]) {
        await assert.rejects(attempt(), (error) => {
          assert.ok(error instanceof BadRequestError, String(error));
          assert.equal(error.param, param);
          return true;
        });
      }
    });
  }

  test('cannot be cancelled unless they run in the background', async () => {
    const { id } = await openai.client.responses.create(HELLO);
    await assert.rejects(openai.client.responses.cancel(id), BadRequestError);
  });

  test('are refused while another response of the conversation runs', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({});
    const running = await responses.create({ ...HANGING, conversation: id, stream: true });
    await readUntil(running, 'response.output_text.delta');
    await assert.rejects(responses.create({ ...HELLO, conversation: id }), (error) => {
      assert.ok(error instanceof ConflictError, String(error));
      assert.equal(error.code, 'conversation_locked');
      assert.ok(Number(error.headers.get('retry-after')) >= 1);
      return true;
    });
    running.controller.abort();
  });

  test('store nothing of an aborted turn', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({ items: [{ role: 'user', content: 'Hi' }] });
    const stream = responses.stream({ ...HANGING, conversation: id });
    const created = await readUntil(stream, 'response.output_text.delta');
    stream.abort();
    await assert.rejects(stream.finalResponse(), APIUserAbortError);
    const next = await until('the conversation is free', { timeoutMs: FREE_MS_MAX }, async () => {
      try {
        return await responses.create({ ...HELLO, conversation: id });
      } catch (error) {
        if (error instanceof ConflictError) return undefined;
        throw error;
      }
    });
    const { data } = await conversations.items.list(id, { order: 'asc' });
    assert.deepEqual(data.slice(2).map(getId), next.output.map(getId));
    assert.equal(data.length, 3);
    assert.ok(created?.type === 'response.created');
    await assert.rejects(responses.retrieve(created.response.id), NotFoundError);
  });

  test('report a failure in mid-answer, and store nothing', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({});
    const params = { ...HELLO, input: encodeScript('One ', { fail: 'engine-failed' }), conversation: id };
    const events = await Array.fromAsync(await responses.create({ ...params, stream: true }));
    const last = events.at(-1);
    assert.ok(last?.type === 'response.failed', last?.type);
    assert.equal(last.response.status, 'failed');
    assert.ok(last.response.error?.message);
    assert.deepEqual((await conversations.items.list(id)).data, []);
    await assert.rejects(responses.retrieve(last.response.id), NotFoundError);
    await assert.rejects(responses.create(params), OpenAI.InternalServerError);
  });

  test('report how many of the oldest items were dropped', async () => {
    const { conversations, responses } = openai.client;
    const long = 'word '.repeat(900);
    const items = [1, 2, 3].map(() => ({ role: 'user' as const, content: long }));
    const { id } = await conversations.create({ items });
    await assert.rejects(responses.create({ ...HELLO, conversation: id }), (error) => {
      assert.ok(error instanceof BadRequestError, String(error));
      assert.match(error.message, /2047.*\d{4}/);
      return true;
    });
    const { response, data } = await responses
      .create({ ...HELLO, conversation: id, truncation: 'auto' })
      .withResponse();
    assert.equal(data.output_text, 'Hello there.');
    assert.ok(['2', '3'].includes(response.headers.get('x-parley-dropped-items') ?? ''));
  });

  test('are served on the deprecated path too, which names its successor', async () => {
    const { responses } = openai.deprecatedPathClient;
    const { data: created, response } = await responses.create(HELLO).withResponse();
    assert.match(response.headers.get('deprecation') ?? '', /^@\d+$/);
    assert.match(
      response.headers.get('link') ?? '',
      /<[^>]*\/compatible-mode\/v1\/responses>; rel="successor-version"/,
    );
    assert.equal((await responses.stream(HELLO).finalResponse()).output_text, 'Hello there.');
    const asResponse = await Promise.all([
      responses.retrieve(created.id).asResponse(),
      responses.inputItems.list(created.id).asResponse(),
      responses.inputTokens.count(HELLO).asResponse(),
    ]);
    assert.ok(asResponse.every(({ headers }) => headers.has('deprecation')));
    assert.equal((await openai.client.responses.retrieve(created.id).asResponse()).headers.has('deprecation'), false);
    await responses.delete(created.id);
    await assert.rejects(openai.client.responses.retrieve(created.id), NotFoundError);
  });

  openai.testPublishedShapes([
    'ResponseResource',
    'ResponseCreatedStreamingEvent',
    'ResponseInProgressStreamingEvent',
    'ResponseOutputItemAddedStreamingEvent',
    'ResponseContentPartAddedStreamingEvent',
    'ResponseOutputTextDeltaStreamingEvent',
    'ResponseOutputTextDoneStreamingEvent',
    'ResponseContentPartDoneStreamingEvent',
    'ResponseReasoningSummaryPartAddedStreamingEvent',
    'ResponseReasoningSummaryDeltaStreamingEvent',
    'ResponseReasoningSummaryDoneStreamingEvent',
    'ResponseReasoningSummaryPartDoneStreamingEvent',
    'ResponseOutputItemDoneStreamingEvent',
    'ResponseCompletedStreamingEvent',
    'ResponseIncompleteStreamingEvent',
    'ResponseFailedStreamingEvent',
    'ResponseDeleted',
    'ResponseItemList',
    'InputTokenCountResponse',
    'ErrorBody',
  ]);
});

const getTypes = (events: readonly Event[]): string[] => events.map(({ type }) => type);

const getId = ({ id }: { readonly id?: string | null }): unknown => id;

function getText(item: OpenAI.Responses.ResponseItem): string {
  const [part] = item.type === 'message' ? item.content : [];
  return part && 'text' in part ? part.text : item.type;
}

/** Reads a stream up to an event type. @returns the first event of the stream. */
async function readUntil(stream: AsyncIterable<Event>, type: Event['type']): Promise<Event | undefined> {
  let first: Event | undefined;
  const events = stream[Symbol.asyncIterator]();
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) assert.fail(`the stream ended before ${type}`);
    first ??= value;
    if (value.type === type) return first;
  }
}
