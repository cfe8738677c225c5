import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, NotFoundError, type OpenAI } from 'openai';
import { until } from '../until.ts';
import { encodeScript } from './engine-script.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;
type Response = OpenAI.Responses.Response;

const REQUEST = { model: 'svc-plus', reasoning: { effort: 'none' }, background: true } as const;
const HELLO = { ...REQUEST, input: encodeScript('Hello ', 'there.') };
const SLOW = { ...REQUEST, input: encodeScript('One ', { delayMs: 200 }, 'two ', { delayMs: 200 }, 'three.') };
/** Outputs a text, and then hangs until it is cancelled. */
const HANGING = { ...REQUEST, input: encodeScript('One ', { hang: true }) };

/** Longest wait on a busy machine. */
const WAIT = { timeoutMs: 90_000 };

describe('background responses with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted', sequences: 4 });

  const waitForEnd = ({ id }: { readonly id: string }): Promise<Response> =>
    until('the response has ended', WAIT, async () => {
      const response = await openai.client.responses.retrieve(id);
      return response.status === 'queued' || response.status === 'in_progress' ? undefined : response;
    });
  const joinText = (events: readonly Event[]): string =>
    events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
  const getResponseId = ([first]: readonly Event[]): string =>
    first?.type === 'response.created' ? first.response.id : assert.fail('the first event is not response.created');
  /** Reads a stream up to its first text delta, and closes it. */
  async function readToFirstDelta(request: typeof SLOW): Promise<readonly Event[]> {
    const events: Event[] = [];
    for await (const event of await openai.client.responses.create({ ...request, stream: true })) {
      events.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    return events;
  }

  test('are polled, and complete like live responses', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({});
    const queued = await responses.create({ ...HELLO, conversation, metadata: { a: 'b' } });
    assert.deepEqual([queued.status, queued.background, queued.output_text], ['queued', true, '']);
    const done = await waitForEnd(queued);
    assert.deepEqual([done.status, done.output_text, done.metadata], ['completed', 'Hello there.', { a: 'b' }]);
    const { data } = await responses.inputItems.list(done.id);
    assert.equal(data.length, 1);
    assert.equal((await Array.fromAsync(await conversations.items.list(conversation))).length, 2);
    const next = await waitForEnd(await responses.create({ ...HELLO, previous_response_id: done.id }));
    assert.equal(next.previous_response_id, done.id);
    assert.deepEqual((await responses.cancel(done.id)).status, 'completed');
  });

  test('resume a stream after its last received event', async () => {
    const seen = await readToFirstDelta(SLOW);
    const id = getResponseId(seen);
    const last = seen.at(-1)?.sequence_number ?? 0;
    const { responses } = openai.client;
    const rest = await Array.fromAsync(await responses.retrieve(id, { stream: true, starting_after: last }));
    const whole = [...seen, ...rest];
    assert.deepEqual(
      whole.map(({ sequence_number: number }) => number),
      whole.map((_, index) => index),
    );
    assert.equal(joinText(whole), 'One two three.');
    assert.equal(rest.at(-1)?.type, 'response.completed');
    assert.deepEqual(await Array.fromAsync(await responses.retrieve(id, { stream: true })), whole);
    const beyond = { stream: true, starting_after: whole.length - 1 } as const;
    assert.deepEqual(await Array.fromAsync(await responses.retrieve(id, beyond)), []);
  });

  test('resume with the stream helper, whose final response is complete', async () => {
    const seen = await readToFirstDelta(SLOW);
    const last = seen.at(-1)?.sequence_number ?? 0;
    const stream = openai.client.responses.stream({ response_id: getResponseId(seen), starting_after: last });
    const events = await Array.fromAsync(stream);
    assert.equal(events[0]?.sequence_number, last + 1);
    assert.equal((await stream.finalResponse()).output_text, 'One two three.');
  });

  test('are cancelled in mid-answer, which ends their streams', async () => {
    const { responses } = openai.client;
    const stream = responses.stream(HANGING);
    const seen: Event[] = [];
    let canceled: Response | undefined;
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') canceled = await responses.cancel(getResponseId(seen));
    }
    assert.equal(canceled?.status, 'cancelled');
    const final = await stream.finalResponse();
    assert.deepEqual([final.status, final.error, final.output], ['cancelled', null, []]);
    assert.deepEqual((await responses.cancel(canceled.id)).status, 'cancelled');
    await responses.delete(canceled.id);
    await assert.rejects(responses.retrieve(canceled.id), NotFoundError);
  });

  test('are refused with store false, and for operations on live responses', async () => {
    const { responses } = openai.client;
    const live = await responses.create({ ...HELLO, background: false });
    const waiting = await responses.create(HANGING);
    for (const attempt of [
      () => responses.create({ ...HELLO, store: false }),
      () => responses.create({ ...HELLO, previous_response_id: waiting.id }),
      () => responses.cancel(live.id),
      () => responses.retrieve(live.id, { stream: true }),
      () => responses.retrieve(waiting.id, { stream: true }),
      () => responses.retrieve(live.id, { stream: true, starting_after: -1 }),
    ])
      await assert.rejects(attempt(), BadRequestError);
    await assert.rejects(openai.otherWorkspaceClient.responses.cancel(waiting.id), NotFoundError);
    await assert.rejects(openai.otherWorkspaceClient.responses.retrieve(waiting.id), NotFoundError);
    await responses.cancel(waiting.id);
  });

  openai.testPublishedShapes([
    'ResponseResource',
    'ResponseQueuedStreamingEvent',
    'ResponseInProgressStreamingEvent',
    'ResponseCompletedStreamingEvent',
    'ResponseIncompleteStreamingEvent',
  ]);
});
