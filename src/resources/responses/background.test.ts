import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { BACKGROUND_EVENTS_RETENTION_MS, BACKGROUND_UNFINISHED_MAX } from './limits.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../store/store.ts';
import { createConversations } from '../conversations/service.ts';
import type { JobEvent } from '../jobs/job-notifier.ts';
import { startEventCleanup } from './event-cleanup.ts';
import type { BackgroundResponses, BackgroundRequest, RunningResponse, EncodeStatusChange } from './background.ts';
import { createBackgroundResponses } from './background-service.ts';
import type { Responses } from './response.ts';
import { createRunNotifier } from './run-notifier.ts';
import { createResponses } from './service.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGER = { ...OWNER, workspace: 'other' };

/** Encodes the status as the object, and the sequence number in each event. */
const encodeStatusChange: EncodeStatusChange = (json, change, sequence) => ({
  json: JSON.stringify({ ...Object(JSON.parse(json)), status: change.status }),
  event: event(sequence, change.status),
});
const event = (sequence: number, text: string): string => `data:${sequence} ${text}\n\n`;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let responses: Responses;
let background: BackgroundResponses;
/** The responses of another process, which gets no notifications. */
let elsewhere: BackgroundResponses;
let timers: Set<() => void>;
let jobEvents: JobEvent[];
let aborted: ServiceError[];

const startInterval = (_ms: number, run: () => void) => {
  timers.add(run);
  return () => timers.delete(run);
};
const tick = async (): Promise<void> => {
  for (const run of timers) run();
  await store.keys.list({ limit: 1 }); // one connection: it answers in order
};

beforeEach(async () => {
  nowMs = START;
  timers = new Set();
  jobEvents = [];
  aborted = [];
  store = await openTestStore();
  const notifier = createRunNotifier();
  const deps = { store, clock, ids: systemIdGenerator, encodeStatusChange, startInterval };
  const jobNotifier = { notify: (event: JobEvent) => void jobEvents.push(event) };
  responses = createResponses({ store, clock, startInterval, notifier });
  background = createBackgroundResponses({ ...deps, notifier, jobNotifier });
  elsewhere = createBackgroundResponses({
    ...deps,
    notifier: createRunNotifier(),
    jobNotifier: { notify: () => undefined },
  });
});
afterEach(async () => {
  assert.equal(timers.size, 0, 'an interval is still running');
  await store.close();
});

const createRequest = (id: string, change: Partial<BackgroundRequest> = {}): BackgroundRequest => ({
  id,
  body: '{"input":"Hi"}',
  json: '{"status":"queued"}',
  ...change,
});
const STREAMED = { events: [event(0, 'created'), event(1, 'queued')] };
const start = (id: string, attempt = 1): Promise<RunningResponse> =>
  background.start(id, attempt, (reason) => void aborted.push(reason));
const findStatus = async (id: string): Promise<unknown> =>
  Reflect.get(Object(JSON.parse((await responses.find(OWNER, id)).json)), 'status');
const findJob = (id: string) => store.jobs.findBySubject('response', id);

/** Completes a response with an answer. */
async function complete(id: string, running: RunningResponse, events: string): Promise<void> {
  const turn = await responses.startTurn(OWNER, { id });
  const run = { ...(await running.finish(events)), state: 'completed' } as const;
  await turn.complete({ json: '{"status":"completed"}', input: [], output: [], isStored: true, run });
}

async function read(id: string, after = -1, from = background): Promise<string> {
  let text = '';
  for await (const events of await from.tail(OWNER, id, after)) text += events.join('');
  return text;
}

describe('background responses', () => {
  it('stores a response with its job at once, until it is deleted', async () => {
    await background.enqueue(OWNER, createRequest('resp_1'));
    assert.deepEqual([await findStatus('resp_1'), jobEvents], ['queued', ['due']]);
    assert.deepEqual((await findJob('resp_1'))?.owner, OWNER);
    const pending = await background.findPending('resp_1');
    const expected = { owner: OWNER, createdAt: START, isStreamed: false, hasPartialAnswer: false };
    assert.deepEqual(pending, { id: 'resp_1', body: { input: 'Hi' }, ...expected });
    await assert.rejects(responses.find(STRANGER, 'resp_1'), { kind: 'not-found' });
    await assert.rejects(responses.delete(STRANGER, 'resp_1'), { kind: 'not-found' });
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
    assert.deepEqual([await findJob('resp_1'), await background.findPending('resp_1')], [undefined, undefined]);
  });

  it('stores nothing if its job cannot be stored', async () => {
    await background.enqueue(OWNER, createRequest('resp_1'));
    await assert.rejects(background.enqueue(OWNER, createRequest('resp_1', STREAMED)), { kind: 'internal' });
    assert.equal((await store.responseEvents.read('resp_1', { from: 0, chunksMax: 1 })).length, 0);
  });

  it('limits unfinished responses per key', async () => {
    for (let at = 0; at < BACKGROUND_UNFINISHED_MAX; at++) await background.enqueue(OWNER, createRequest(`resp_${at}`));
    await assert.rejects(background.enqueue(OWNER, createRequest('resp_more')), { kind: 'rate-limited' });
    await assert.rejects(responses.find(OWNER, 'resp_more'), { kind: 'not-found' });
    await background.enqueue({ ...OWNER, keyId: 'key_2' }, createRequest('resp_of_another'));
    await background.cancel(OWNER, 'resp_0');
    await background.enqueue(OWNER, createRequest('resp_more'));
  });

  it('cannot be continued, nor its input listed, before it has an answer', async () => {
    await background.enqueue(OWNER, createRequest('resp_1'));
    const refusal = { kind: 'invalid-request', param: 'previous_response_id' };
    await assert.rejects(responses.startTurn(OWNER, { id: 'resp_2', previous: 'resp_1' }), refusal);
    await assert.rejects(background.checkTurn(OWNER, { previous: 'resp_1' }), refusal);
    await assert.rejects(responses.listInput(OWNER, 'resp_1', { limit: 1, order: 'asc' }), { kind: 'invalid-request' });
    await complete('resp_1', await start('resp_1'), '');
    assert.deepEqual((await background.checkTurn(OWNER, { previous: 'resp_1' })).history, []);
    await background.enqueue(OWNER, createRequest('resp_3'));
    await background.cancel(OWNER, 'resp_3');
    await assert.rejects(background.checkTurn(OWNER, { previous: 'resp_3' }), refusal);
    await assert.rejects(background.checkTurn(STRANGER, { previous: 'resp_1' }), { kind: 'not-found' });
  });

  it('is refused while its conversation is locked', async () => {
    const { id: conversation } = await createConversations({ store, clock }).create(OWNER, {
      items: [],
      metadata: new Map(),
    });
    await background.checkTurn(OWNER, { conversation });
    const turn = await responses.startTurn(OWNER, { id: 'resp_live', conversation });
    await assert.rejects(background.checkTurn(OWNER, { conversation }), { kind: 'locked' });
    await turn.abandon();
    await background.checkTurn(OWNER, { conversation });
    await assert.rejects(background.checkTurn(OWNER, { conversation: 'conv_none' }), { kind: 'not-found' });
  });

  it('stores the answer and the end of the run together or not at all', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    const running = await start('resp_1');
    assert.equal(await findStatus('resp_1'), 'in_progress');
    assert.equal(running.nextSequence, 3);
    await complete('resp_1', running, event(3, 'completed'));
    assert.equal(await findStatus('resp_1'), 'completed');
    assert.equal(await background.findPending('resp_1'), undefined);
    assert.equal(await read('resp_1'), [...STREAMED.events, event(2, 'in_progress'), event(3, 'completed')].join(''));

    await background.enqueue(OWNER, createRequest('resp_2', STREAMED));
    const late = await start('resp_2');
    await elsewhere.cancel(OWNER, 'resp_2');
    await assert.rejects(complete('resp_2', late, event(3, 'completed')), { kind: 'cancelled' });
    assert.equal(await findStatus('resp_2'), 'cancelled');
    assert.equal(await read('resp_2'), [...STREAMED.events, event(2, 'in_progress'), event(3, 'cancelled')].join(''));
  });

  it('belongs to the newest attempt: an older one is aborted at its next event and stores nothing', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    const older = await start('resp_1', 1);
    const newer = await start('resp_1', 2);
    assert.equal(newer.nextSequence, 3);
    void older.emit(event(3, 'of the older'));
    await tick();
    assert.deepEqual(
      aborted.map(({ kind }) => kind),
      ['cancelled'],
    );
    await assert.rejects(complete('resp_1', older, event(4, 'completed')), { kind: 'cancelled' });
    await assert.rejects(start('resp_1', 1), { kind: 'cancelled' });
    await complete('resp_1', newer, event(3, 'completed'));
    assert.equal(await read('resp_1', 2), event(3, 'completed'));
  });

  it('has a partial answer once an event of the answer is stored', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    const running = await start('resp_1');
    assert.equal((await background.findPending('resp_1'))?.hasPartialAnswer, false);
    void running.emit(event(3, 'a') + event(4, 'b'));
    await tick();
    assert.equal((await background.findPending('resp_1'))?.hasPartialAnswer, true);
    running.close();
    await background.fail('resp_1', new ServiceError('engine-failed', ''));
    assert.equal(await findStatus('resp_1'), 'failed');
    assert.equal(await read('resp_1', 2), event(3, 'a') + event(4, 'b') + event(5, 'failed'));
  });

  it('ignores the failure of an older attempt, and fails once', async () => {
    await background.enqueue(OWNER, createRequest('resp_1'));
    (await start('resp_1', 2)).close();
    await background.fail('resp_1', new ServiceError('internal', ''), 1);
    assert.equal(await findStatus('resp_1'), 'in_progress');
    await background.fail('resp_1', new ServiceError('internal', ''), 2);
    assert.equal(await findStatus('resp_1'), 'failed');
    assert.equal(await background.cancel(OWNER, 'resp_1'), '{"status":"failed"}');
  });

  for (const where of ['here', 'elsewhere'] as const) {
    it(`is cancelled ${where} at once, with its job, and stays cancelled`, async () => {
      const from = where === 'here' ? background : elsewhere;
      await background.enqueue(OWNER, createRequest('resp_1'));
      const running = await start('resp_1');
      await assert.rejects(from.cancel(STRANGER, 'resp_1'), { kind: 'not-found' });
      for (let times = 0; times < 2; times++)
        assert.equal(await from.cancel(OWNER, 'resp_1'), '{"status":"cancelled"}');
      assert.deepEqual([await findStatus('resp_1'), (await findJob('resp_1'))?.isCancelled], ['cancelled', true]);
      if (where === 'here') assert.deepEqual(jobEvents, ['due', 'cancelled']);
      running.close();
    });
  }

  it('refuses to cancel a response that is not a background response, or does not exist', async () => {
    const turn = await responses.startTurn(OWNER, { id: 'resp_live' });
    await turn.complete({ json: '{}', input: [], output: [], isStored: true });
    await assert.rejects(background.cancel(OWNER, 'resp_live'), { kind: 'unsupported' });
    await assert.rejects(background.cancel(OWNER, 'resp_none'), { kind: 'not-found' });
  });
});

describe('events of a background response', () => {
  it('exist for streamed responses only, and only for their owner', async () => {
    await background.enqueue(OWNER, createRequest('resp_1'));
    await assert.rejects(background.tail(OWNER, 'resp_1', -1), { kind: 'unsupported', param: 'stream' });
    await background.enqueue(OWNER, createRequest('resp_2', STREAMED));
    await assert.rejects(background.tail(STRANGER, 'resp_2', -1), { kind: 'not-found' });
    await assert.rejects(background.tail(OWNER, 'resp_none', -1), { kind: 'not-found' });
  });

  it('are available for BACKGROUND_EVENTS_RETENTION_MS after the end, removed or not', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    await background.cancel(OWNER, 'resp_1');
    nowMs += BACKGROUND_EVENTS_RETENTION_MS - 1;
    assert.equal(await read('resp_1', 1), event(2, 'cancelled'));
    assert.equal(await read('resp_1', 2), '');
    nowMs += 1;
    await assert.rejects(read('resp_1'), { kind: 'invalid-request', param: 'stream' });
    nowMs += 1;
    const cleanup = startEventCleanup({ store, clock, log: { warn: assert.fail }, startInterval });
    await cleanup.close();
    assert.deepEqual(await store.responseEvents.read('resp_1', { from: 0, chunksMax: 1 }), []);
    await assert.rejects(read('resp_1'), { kind: 'invalid-request', param: 'stream' });
    assert.equal(await findStatus('resp_1'), 'cancelled');
  });

  it('end with an error when the response is deleted', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    const events = (await background.tail(OWNER, 'resp_1', -1))[Symbol.asyncIterator]();
    assert.deepEqual((await events.next()).value, STREAMED.events);
    const next = events.next();
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(next, { kind: 'not-found' });
    assert.deepEqual(await store.responseEvents.read('resp_1', { from: 0, chunksMax: 1 }), []);
  });

  it('reach readers in the same process at once and others at the next poll', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    const running = await start('resp_1');
    const [here, there] = await Promise.all(
      [background, elsewhere].map(async (from) => (await from.tail(OWNER, 'resp_1', 2))[Symbol.asyncIterator]()),
    );
    const received: string[] = [];
    const record = (who: string) => () => void received.push(who);
    let nexts = [here?.next().then(record('here')), there?.next().then(record('there'))];
    void running.emit(event(3, 'a'));
    await nexts[0];
    assert.deepEqual(received, ['here']);
    await tick();
    await nexts[1];
    nexts = [here?.next().then(record('here')), there?.next().then(record('there'))];
    await complete('resp_1', running, event(4, 'completed'));
    await nexts[0];
    assert.deepEqual(received, ['here', 'there', 'here']);
    await tick();
    await nexts[1];
    for (const reader of [here, there]) assert.equal((await reader?.next())?.done, true);
  });

  it('stop all intervals when the reader leaves', async () => {
    await background.enqueue(OWNER, createRequest('resp_1', STREAMED));
    for await (const _ of await background.tail(OWNER, 'resp_1', -1)) break;
    assert.equal(timers.size, 0);
  });

  it('are the same for every reader in any process from any start', async () => {
    let responseCount = 0;
    const pieces = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 12 });
    const readers = fc.array(
      fc.record({ at: fc.nat(12), after: fc.integer({ min: -1, max: 40 }), isHere: fc.boolean() }),
      { minLength: 1, maxLength: 6 },
    );
    const end = fc.constantFrom('completed', 'cancelled', 'failed');
    await fc.assert(
      fc.asyncProperty(pieces, readers, end, async (counts, readerPlans, outcome) => {
        const id = `resp_${++responseCount}`;
        await background.enqueue(OWNER, createRequest(id, STREAMED));
        const running = await start(id);
        const readTexts: Promise<string>[] = [];
        const join = (at: number): void => {
          for (const { after, isHere } of readerPlans.filter((reader) => reader.at === at))
            readTexts.push(read(id, after, isHere ? background : elsewhere));
        };
        let sequence = running.nextSequence;
        const createEvents = (count: number): string =>
          Array.from({ length: count }, () => event(sequence, `piece ${sequence++}`)).join('');
        for (const [at, count] of counts.entries()) {
          join(at);
          await running.emit(createEvents(count));
          if (at % 3 === 0) await tick();
        }
        if (outcome === 'completed') await complete(id, running, createEvents(2));
        else {
          if (outcome === 'cancelled') await elsewhere.cancel(OWNER, id);
          else await running.fail({ json: '{"status":"failed"}', events: createEvents(1) });
          running.close();
        }
        for (let at = counts.length; at <= 12; at++) join(at);
        let isFinished = false;
        const all = Promise.all(readTexts).finally(() => (isFinished = true));
        while (!isFinished) await tick();
        const fullText = await read(id);
        const events = fullText.split('\n\n').slice(0, -1);
        assert.deepEqual(
          events.map((text) => Number.parseInt(text.slice('data:'.length), 10)),
          events.map((_, index) => index),
        );
        const plansInOrder = [...readerPlans].toSorted((one, other) => one.at - other.at);
        assert.deepEqual(
          await all,
          plansInOrder.map(({ after }) =>
            events
              .slice(after + 1)
              .map((text) => `${text}\n\n`)
              .join(''),
          ),
        );
      }),
      { numRuns: scalePropertyRuns(60) },
    );
  });
});
