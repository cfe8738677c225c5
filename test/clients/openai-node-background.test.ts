import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { BadRequestError, NotFoundError, type OpenAI } from 'openai';
import { until } from '../until.ts';
import { says } from './script.ts';
import { useRecordedOpenAI } from './use-recorded-openai.ts';

type Event = OpenAI.Responses.ResponseStreamEvent;
type Response = OpenAI.Responses.Response;

const ASKED = { model: 'svc-plus', reasoning: { effort: 'none' }, background: true } as const;
const HELLO = { ...ASKED, input: says('Hello ', 'there.') };
const SLOW = { ...ASKED, input: says('One ', { delayMs: 200 }, 'two ', { delayMs: 200 }, 'three.') };
/** It says something, and then nothing until it is cancelled. */
const HANGING = { ...ASKED, input: says('One ', { hang: true }) };

/** The machine may be busy, in ms. */
const WITHIN = { withinMs: 90_000 };

describe('responses in the background with the openai client for Node', () => {
  const openai = useRecordedOpenAI({ engine: 'scripted', sequences: 4 });

  const ended = ({ id }: { readonly id: string }): Promise<Response> =>
    until('it has ended', WITHIN, async () => {
      const response = await openai.client.responses.retrieve(id);
      return response.status === 'queued' || response.status === 'in_progress' ? undefined : response;
    });
  const textOf = (events: readonly Event[]): string =>
    events.map((event) => (event.type === 'response.output_text.delta' ? event.delta : '')).join('');
  const idOf = ([first]: readonly Event[]): string =>
    first?.type === 'response.created' ? first.response.id : assert.fail('it does not begin with its creation');
  /** Reads up to its first delta, and breaks off. */
  async function begin(asked: typeof SLOW): Promise<readonly Event[]> {
    const events: Event[] = [];
    for await (const event of await openai.client.responses.create({ ...asked, stream: true })) {
      events.push(event);
      if (event.type === 'response.output_text.delta') break;
    }
    return events;
  }

  test('are polled for, and answered as if somebody had waited', async () => {
    const { conversations, responses } = openai.client;
    const { id: conversation } = await conversations.create({});
    const queued = await responses.create({ ...HELLO, conversation, metadata: { a: 'b' } });
    assert.deepEqual([queued.status, queued.background, queued.output_text], ['queued', true, '']);
    const done = await ended(queued);
    assert.deepEqual([done.status, done.output_text, done.metadata], ['completed', 'Hello there.', { a: 'b' }]);
    const { data } = await responses.inputItems.list(done.id);
    assert.equal(data.length, 1);
    assert.equal((await Array.fromAsync(await conversations.items.list(conversation))).length, 2);
    const next = await ended(await responses.create({ ...HELLO, previous_response_id: done.id }));
    assert.equal(next.previous_response_id, done.id);
    assert.deepEqual((await responses.cancel(done.id)).status, 'completed');
  });

  test('go on from the event where a stream broke off', async () => {
    const seen = await begin(SLOW);
    const id = idOf(seen);
    const last = seen.at(-1)?.sequence_number ?? 0;
    const { responses } = openai.client;
    const rest = await Array.fromAsync(await responses.retrieve(id, { stream: true, starting_after: last }));
    const whole = [...seen, ...rest];
    assert.deepEqual(
      whole.map(({ sequence_number: number }) => number),
      whole.map((_, index) => index),
    );
    assert.equal(textOf(whole), 'One two three.');
    assert.equal(rest.at(-1)?.type, 'response.completed');
    assert.deepEqual(await Array.fromAsync(await responses.retrieve(id, { stream: true })), whole);
    const beyond = { stream: true, starting_after: whole.length - 1 } as const;
    assert.deepEqual(await Array.fromAsync(await responses.retrieve(id, beyond)), []);
  });

  test('go on by the helper, which adds up what was told before', async () => {
    const seen = await begin(SLOW);
    const last = seen.at(-1)?.sequence_number ?? 0;
    const stream = openai.client.responses.stream({ response_id: idOf(seen), starting_after: last });
    const events = await Array.fromAsync(stream);
    assert.equal(events[0]?.sequence_number, last + 1);
    assert.equal((await stream.finalResponse()).output_text, 'One two three.');
  });

  test('are cancelled in mid-answer, and their streams end with that', async () => {
    const { responses } = openai.client;
    const stream = responses.stream(HANGING);
    const seen: Event[] = [];
    let told: Response | undefined;
    for await (const event of stream) {
      seen.push(event);
      if (event.type === 'response.output_text.delta') told = await responses.cancel(idOf(seen));
    }
    assert.equal(told?.status, 'cancelled');
    const final = await stream.finalResponse();
    assert.deepEqual([final.status, final.error, final.output], ['cancelled', null, []]);
    assert.deepEqual((await responses.cancel(told.id)).status, 'cancelled');
    await responses.delete(told.id);
    await assert.rejects(responses.retrieve(told.id), NotFoundError);
  });

  test('are refused without being kept, and where somebody waited', async () => {
    const { responses } = openai.client;
    const live = await responses.create({ ...HELLO, background: false });
    const waiting = await responses.create(HANGING);
    for (const ask of [
      () => responses.create({ ...HELLO, store: false }),
      () => responses.create({ ...HELLO, previous_response_id: waiting.id }),
      () => responses.cancel(live.id),
      () => responses.retrieve(live.id, { stream: true }),
      () => responses.retrieve(waiting.id, { stream: true }),
      () => responses.retrieve(live.id, { stream: true, starting_after: -1 }),
    ])
      await assert.rejects(ask(), BadRequestError);
    await assert.rejects(openai.stranger.responses.cancel(waiting.id), NotFoundError);
    await assert.rejects(openai.stranger.responses.retrieve(waiting.id), NotFoundError);
    await responses.cancel(waiting.id);
  });

  openai.testPublished([
    'ResponseResource',
    'ResponseQueuedStreamingEvent',
    'ResponseInProgressStreamingEvent',
    'ResponseCompletedStreamingEvent',
    'ResponseIncompleteStreamingEvent',
  ]);
});
