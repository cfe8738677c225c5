import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { APIUserAbortError, BadRequestError, ConflictError, NotFoundError, OpenAI } from 'openai';
import { until } from '../until.ts';
import { says } from './script.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

type Asked = OpenAI.Responses.ResponseCreateParamsNonStreaming;
type Input = OpenAI.Responses.ResponseInputItem;
type Event = OpenAI.Responses.ResponseStreamEvent;

const MODEL = 'svc-plus';
const HELLO = { model: MODEL, input: says('Hello ', 'there.'), reasoning: { effort: 'none' } } satisfies Asked;

/** It says something, and then nothing until it is cancelled. */
const HANGING = { ...HELLO, input: says('One ', { hang: true }) };

/** Until a conversation is free again, in ms: at once, but the machine may be busy. Less than a dead turn would hold it. */
const FREE_MS_MAX = 10_000;

describe('responses with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted', sequences: 4 });

  test('answer a text, and tell what they were asked', async () => {
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

  test('are told event by event, and in the end as they are kept', async () => {
    const stream = openai.client.responses.stream(HELLO);
    const events = await Array.fromAsync(stream);
    assert.deepEqual(kindsOf(events), [
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
    const kept = await openai.client.responses.retrieve(final.id);
    assert.deepEqual(
      [kept.output_text, kept.output.map(idOf), kept.usage],
      ['Hello there.', final.output.map(idOf), final.usage],
    );
    // What is put together says the same as what is told at once.
    const { output } = await openai.client.responses.create(HELLO);
    assert.deepEqual(
      output.map((item) => ({ ...item, id: '' })),
      kept.output.map((item) => ({ ...item, id: '' })),
    );
  });

  test('hear the helper’s listeners in their turn', async () => {
    const heard: string[] = [];
    const final = await openai.client.responses
      .stream(HELLO)
      .on('response.output_text.delta', ({ snapshot }) => heard.push(snapshot))
      .on('response.completed', () => heard.push('completed'))
      .finalResponse();
    assert.deepEqual(heard, ['Hello ', final.output_text, 'completed']);
  });

  for (const isStreamed of [false, true]) {
    test(`bring the thought before the answer${isStreamed ? ', in a stream too' : ''}`, async () => {
      const input = says('Easy', '.', '</think>', 'Done.');
      const asked = { ...HELLO, input, reasoning: { effort: 'high' } } satisfies Asked;
      const response = isStreamed
        ? await openai.client.responses.stream(asked).finalResponse()
        : await openai.client.responses.create(asked);
      const [thought, message] = response.output;
      assert.ok(thought?.type === 'reasoning' && message?.type === 'message');
      assert.deepEqual(thought.summary, [{ type: 'summary_text', text: 'Easy.' }]);
      assert.equal(response.output_text.trim(), 'Done.');
      assert.ok((response.usage?.output_tokens_details.reasoning_tokens ?? 0) > 0);
    });

    test(`are incomplete at their limit${isStreamed ? ', in a stream too' : ''}`, async () => {
      const asked = { ...HELLO, input: says('a ', 'b ', 'c ', 'd '), max_output_tokens: 2 };
      const response = isStreamed
        ? await openai.client.responses.stream(asked).finalResponse()
        : await openai.client.responses.create(asked);
      assert.deepEqual([response.status, response.incomplete_details], ['incomplete', { reason: 'max_output_tokens' }]);
      assert.equal(response.output_text, 'a b ');
      assert.equal((await openai.client.responses.retrieve(response.id)).status, 'incomplete');
    });
  }

  test('go on from one another, with all that was said', async () => {
    const { responses } = openai.client;
    const first = await responses.create(HELLO);
    const second = await responses.create({ ...HELLO, input: says('Again.'), previous_response_id: first.id });
    const third = { ...HELLO, input: 'Once more.', previous_response_id: second.id };
    const chained = await responses.create(third);
    assert.equal(chained.previous_response_id, second.id);
    const flat = await responses.create({
      ...HELLO,
      input: [
        { role: 'user', content: HELLO.input },
        { role: 'assistant', content: 'Hello there.' },
        { role: 'user', content: says('Again.') },
        { role: 'assistant', content: 'Again.' },
        { role: 'user', content: 'Once more.' },
      ],
    });
    assert.equal(chained.usage?.input_tokens, flat.usage?.input_tokens);
    const counted = await responses.inputTokens.count(third);
    assert.deepEqual(counted, { object: 'response.input_tokens', input_tokens: flat.usage?.input_tokens });
  });

  test('do not take over the instructions of the one before', async () => {
    const { responses } = openai.client;
    const first = await responses.create({ ...HELLO, instructions: 'Speak like a pirate, always and everywhere.' });
    const count = (id: string) => responses.inputTokens.count({ ...HELLO, previous_response_id: id });
    const plain = await responses.create(HELLO);
    assert.deepEqual(await count(first.id), await count(plain.id));
  });

  test('are appended to their conversation, and begin with what is in it', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({ items: [{ role: 'system', content: 'Be brief.' }] });
    const before = await responses.inputTokens.count({ ...HELLO, conversation: id });
    const first = await responses.create({ ...HELLO, conversation: id });
    assert.equal(first.usage?.input_tokens, before.input_tokens);
    assert.deepEqual(first.conversation, { id });
    const second = await responses.stream({ ...HELLO, input: says('Again.'), conversation: { id } }).finalResponse();
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

  test('list what they were asked, page by page', async () => {
    const input: Input[] = ['a', 'b', 'c', 'd', 'e'].map((content) => ({ role: 'user', content }));
    const { responses } = openai.client;
    const { id } = await responses.create({ ...HELLO, input });
    const ascending = await Array.fromAsync(responses.inputItems.list(id, { order: 'asc', limit: 2 }));
    assert.deepEqual(ascending.map(textOf), ['a', 'b', 'c', 'd', 'e']);
    const descending = await Array.fromAsync(responses.inputItems.list(id));
    assert.deepEqual(descending.map(textOf), ['e', 'd', 'c', 'b', 'a']);
    const { data } = await responses.inputItems.list(id, { order: 'asc', after: ascending[3]?.id ?? '' });
    assert.deepEqual(data.map(textOf), ['e']);
  });

  test('are not there any more when they were deleted, nor when they are not to be kept', async () => {
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

  test('of others are not there', async () => {
    const { id } = await openai.client.responses.create(HELLO);
    const { id: conversation } = await openai.client.conversations.create({});
    const { responses } = openai.stranger;
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

  for (const [fault, asked, param] of [
    [
      'both a conversation and a response to go on from',
      { conversation: 'conv_1', previous_response_id: 'resp_1' },
      'previous_response_id',
    ],
    ['the wish to run in the background and not to be kept', { background: true, store: false }, 'store'],
    [
      'a file that is elsewhere',
      { input: [{ role: 'user', content: [{ type: 'input_file', file_url: 'https://example.com/a' }] }] },
      'input[0].content[0].file_url',
    ],
    ['a temperature of 3', { temperature: 3 }, 'temperature'],
    ['nothing to answer', { input: [] }, 'input'],
  ] as const) {
    test(`are refused with ${fault}, which is named`, async () => {
      const wrong: Omit<Asked, 'stream'> = { ...HELLO, ...(asked as object) };
      for (const ask of [
        () => openai.client.responses.create(wrong),
        () => openai.client.responses.stream(wrong).finalResponse(),
      ]) {
        await assert.rejects(ask(), (error) => {
          assert.ok(error instanceof BadRequestError, String(error));
          assert.equal(error.param, param);
          return true;
        });
      }
    });
  }

  test('cannot be cancelled where somebody waited for them', async () => {
    const { id } = await openai.client.responses.create(HELLO);
    await assert.rejects(openai.client.responses.cancel(id), BadRequestError);
  });

  test('wait for nobody: a conversation that is being answered takes no second one', async () => {
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

  test('leave no half turn when they are broken off', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({ items: [{ role: 'user', content: 'Hi' }] });
    const stream = responses.stream({ ...HANGING, conversation: id });
    const begun = await readUntil(stream, 'response.output_text.delta');
    stream.abort();
    await assert.rejects(stream.finalResponse(), APIUserAbortError);
    const next = await until('the conversation is free', { withinMs: FREE_MS_MAX }, async () => {
      try {
        return await responses.create({ ...HELLO, conversation: id });
      } catch (error) {
        if (error instanceof ConflictError) return undefined;
        throw error;
      }
    });
    const { data } = await conversations.items.list(id, { order: 'asc' });
    assert.deepEqual(data.slice(2).map(idOf), next.output.map(idOf));
    assert.equal(data.length, 3);
    assert.ok(begun?.type === 'response.created');
    await assert.rejects(responses.retrieve(begun.response.id), NotFoundError);
  });

  test('tell of a failure in mid-answer as such, and leave nothing', async () => {
    const { conversations, responses } = openai.client;
    const { id } = await conversations.create({});
    const asked = { ...HELLO, input: says('One ', { fail: 'engine-failed' }), conversation: id };
    const events = await Array.fromAsync(await responses.create({ ...asked, stream: true }));
    const last = events.at(-1);
    assert.ok(last?.type === 'response.failed', last?.type);
    assert.equal(last.response.status, 'failed');
    assert.ok(last.response.error?.message);
    assert.deepEqual((await conversations.items.list(id)).data, []);
    await assert.rejects(responses.retrieve(last.response.id), NotFoundError);
    await assert.rejects(responses.create(asked), OpenAI.InternalServerError);
  });

  test('say which of the oldest items the model was not told', async () => {
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

  test('are on the path that they had before too, which says where they are now', async () => {
    const { responses } = openai.old;
    const { data: made, response } = await responses.create(HELLO).withResponse();
    assert.match(response.headers.get('deprecation') ?? '', /^@\d+$/);
    assert.match(
      response.headers.get('link') ?? '',
      /<[^>]*\/compatible-mode\/v1\/responses>; rel="successor-version"/,
    );
    assert.equal((await responses.stream(HELLO).finalResponse()).output_text, 'Hello there.');
    const asResponse = await Promise.all([
      responses.retrieve(made.id).asResponse(),
      responses.inputItems.list(made.id).asResponse(),
      responses.inputTokens.count(HELLO).asResponse(),
    ]);
    assert.ok(asResponse.every(({ headers }) => headers.has('deprecation')));
    assert.equal((await openai.client.responses.retrieve(made.id).asResponse()).headers.has('deprecation'), false);
    await responses.delete(made.id);
    await assert.rejects(openai.client.responses.retrieve(made.id), NotFoundError);
  });

  openai.testPublished([
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

const kindsOf = (events: readonly Event[]): string[] => events.map(({ type }) => type);

const idOf = ({ id }: { readonly id?: string | null }): unknown => id;

function textOf(item: OpenAI.Responses.ResponseItem): string {
  const [part] = item.type === 'message' ? item.content : [];
  return part && 'text' in part ? part.text : item.type;
}

/** @returns the first event of the stream. */
async function readUntil(stream: AsyncIterable<Event>, kind: Event['type']): Promise<Event | undefined> {
  let first: Event | undefined;
  const events = stream[Symbol.asyncIterator]();
  for (;;) {
    const { value, done } = await events.next();
    if (done === true) assert.fail(`the stream ended before ${kind}`);
    first ??= value;
    if (value.type === kind) return first;
  }
}
