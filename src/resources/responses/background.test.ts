import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import fc from 'fast-check';
import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import { BACKGROUND_EVENTS_MS, BACKGROUND_UNFINISHED_MAX } from '../../core/limits.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import { createConversations } from '../conversations/service.ts';
import type { JobNews } from '../jobs/job-bell.ts';
import { startPastEvents } from './past-events.ts';
import type { BackgroundResponses, BackgroundWish, RunningResponse, TellChange } from './background.ts';
import { createBackgroundResponses } from './background-service.ts';
import type { Responses } from './response.ts';
import { createRunBell } from './run-bell.ts';
import { createResponses } from './service.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
const STRANGER = { ...OWNER, workspace: 'other' };

/** An interface whose object is its status, and whose events say their number. */
const tellChange: TellChange = (json, change, sequence) => ({
  json: JSON.stringify({ ...Object(JSON.parse(json)), status: change.status }),
  event: event(sequence, change.status),
});
const event = (sequence: number, text: string): string => `data:${sequence} ${text}\n\n`;

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let responses: Responses;
let background: BackgroundResponses;
/** As a process elsewhere has it: nothing rings there. */
let elsewhere: BackgroundResponses;
let timers: Set<() => void>;
let rung: JobNews[];
let aborted: ServiceError[];

const every = (_ms: number, run: () => void) => {
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
  rung = [];
  aborted = [];
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
  const bell = createRunBell();
  const needs = { store, clock, ids: systemIds, tellChange, every };
  const jobBell = { ring: (news: JobNews) => void rung.push(news) };
  responses = createResponses({ store, clock, every, bell });
  background = createBackgroundResponses({ ...needs, bell, jobBell });
  elsewhere = createBackgroundResponses({ ...needs, bell: createRunBell(), jobBell: { ring: () => undefined } });
});
afterEach(async () => {
  assert.equal(timers.size, 0, 'something goes on looking');
  await store.close();
});

const wish = (id: string, change: Partial<BackgroundWish> = {}): BackgroundWish => ({
  id,
  body: '{"input":"Hi"}',
  json: '{"status":"queued"}',
  ...change,
});
const STREAMED = { events: [event(0, 'created'), event(1, 'queued')] };
const begin = (id: string, attempt = 1): Promise<RunningResponse> =>
  background.begin(id, attempt, (reason) => void aborted.push(reason));
const statusOf = async (id: string): Promise<unknown> =>
  Reflect.get(Object(JSON.parse((await responses.find(OWNER, id)).json)), 'status');
const jobOf = (id: string) => store.jobs.findBySubject('response', id);

/** Comes to its end with an answer. */
async function complete(id: string, running: RunningResponse, events: string): Promise<void> {
  const turn = await responses.begin(OWNER, { id });
  const run = { ...(await running.end(events)), state: 'completed' } as const;
  await turn.complete({ json: '{"status":"completed"}', input: [], output: [], isStored: true, run });
}

async function read(id: string, after = -1, from = background): Promise<string> {
  let text = '';
  for await (const events of await from.tail(OWNER, id, after)) text += events.join('');
  return text;
}

describe('a response that nobody waits for', () => {
  it('is there at once with its job, as it was told, and until it is deleted', async () => {
    await background.enqueue(OWNER, wish('resp_1'));
    assert.deepEqual([await statusOf('resp_1'), rung], ['queued', ['due']]);
    assert.deepEqual((await jobOf('resp_1'))?.owner, OWNER);
    const waiting = await background.findWaiting('resp_1');
    const told = { owner: OWNER, createdAt: START, isStreamed: false, isBroken: false };
    assert.deepEqual(waiting, { id: 'resp_1', body: { input: 'Hi' }, ...told });
    await assert.rejects(responses.find(STRANGER, 'resp_1'), { kind: 'not-found' });
    await assert.rejects(responses.delete(STRANGER, 'resp_1'), { kind: 'not-found' });
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(responses.find(OWNER, 'resp_1'), { kind: 'not-found' });
    assert.deepEqual([await jobOf('resp_1'), await background.findWaiting('resp_1')], [undefined, undefined]);
  });

  it('leaves nothing where its job could not be made', async () => {
    await background.enqueue(OWNER, wish('resp_1'));
    await assert.rejects(background.enqueue(OWNER, wish('resp_1', STREAMED)), { kind: 'internal' });
    assert.equal((await store.responseEvents.read('resp_1', { from: 0, chunksMax: 1 })).length, 0);
  });

  it('is one of so many of its key that have not ended', async () => {
    for (let at = 0; at < BACKGROUND_UNFINISHED_MAX; at++) await background.enqueue(OWNER, wish(`resp_${at}`));
    await assert.rejects(background.enqueue(OWNER, wish('resp_more')), { kind: 'rate-limited' });
    await assert.rejects(responses.find(OWNER, 'resp_more'), { kind: 'not-found' });
    await background.enqueue({ ...OWNER, keyId: 'key_2' }, wish('resp_of_another'));
    await background.cancel(OWNER, 'resp_0');
    await background.enqueue(OWNER, wish('resp_more'));
  });

  it('is nothing to go on from before its answer, nor has input to list', async () => {
    await background.enqueue(OWNER, wish('resp_1'));
    const refusal = { kind: 'invalid-request', param: 'previous_response_id' };
    await assert.rejects(responses.begin(OWNER, { id: 'resp_2', previous: 'resp_1' }), refusal);
    await assert.rejects(background.look(OWNER, { previous: 'resp_1' }), refusal);
    await assert.rejects(responses.listInput(OWNER, 'resp_1', { limit: 1, order: 'asc' }), { kind: 'invalid-request' });
    await complete('resp_1', await begin('resp_1'), '');
    assert.deepEqual((await background.look(OWNER, { previous: 'resp_1' })).history, []);
    await background.enqueue(OWNER, wish('resp_3'));
    await background.cancel(OWNER, 'resp_3');
    await assert.rejects(background.look(OWNER, { previous: 'resp_3' }), refusal);
    await assert.rejects(background.look(STRANGER, { previous: 'resp_1' }), { kind: 'not-found' });
  });

  it('is refused while its conversation is answering', async () => {
    const { id: conversation } = await createConversations({ store, clock }).create(OWNER, {
      items: [],
      metadata: new Map(),
    });
    await background.look(OWNER, { conversation });
    const turn = await responses.begin(OWNER, { id: 'resp_live', conversation });
    await assert.rejects(background.look(OWNER, { conversation }), { kind: 'locked' });
    await turn.abandon();
    await background.look(OWNER, { conversation });
    await assert.rejects(background.look(OWNER, { conversation: 'conv_none' }), { kind: 'not-found' });
  });

  it('is kept as an answer with the end of its run, or not at all', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    const running = await begin('resp_1');
    assert.equal(await statusOf('resp_1'), 'in_progress');
    assert.equal(running.nextSequence, 3);
    await complete('resp_1', running, event(3, 'completed'));
    assert.equal(await statusOf('resp_1'), 'completed');
    assert.equal(await background.findWaiting('resp_1'), undefined);
    assert.equal(await read('resp_1'), [...STREAMED.events, event(2, 'in_progress'), event(3, 'completed')].join(''));

    await background.enqueue(OWNER, wish('resp_2', STREAMED));
    const late = await begin('resp_2');
    await elsewhere.cancel(OWNER, 'resp_2');
    await assert.rejects(complete('resp_2', late, event(3, 'completed')), { kind: 'cancelled' });
    assert.equal(await statusOf('resp_2'), 'cancelled');
    assert.equal(await read('resp_2'), [...STREAMED.events, event(2, 'in_progress'), event(3, 'cancelled')].join(''));
  });

  it('is of the newest attempt: an older one is aborted with its next event, and keeps nothing', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    const older = await begin('resp_1', 1);
    const newer = await begin('resp_1', 2);
    assert.equal(newer.nextSequence, 3);
    void older.tell(event(3, 'of the older'));
    await tick();
    assert.deepEqual(
      aborted.map(({ kind }) => kind),
      ['cancelled'],
    );
    await assert.rejects(complete('resp_1', older, event(4, 'completed')), { kind: 'cancelled' });
    await assert.rejects(begin('resp_1', 1), { kind: 'cancelled' });
    await complete('resp_1', newer, event(3, 'completed'));
    assert.equal(await read('resp_1', 2), event(3, 'completed'));
  });

  it('is broken once a part of its answer was told, and not before', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    const running = await begin('resp_1');
    assert.equal((await background.findWaiting('resp_1'))?.isBroken, false);
    void running.tell(event(3, 'a') + event(4, 'b'));
    await tick();
    assert.equal((await background.findWaiting('resp_1'))?.isBroken, true);
    running.close();
    await background.fail('resp_1', new ServiceError('engine-failed', ''));
    assert.equal(await statusOf('resp_1'), 'failed');
    assert.equal(await read('resp_1', 2), event(3, 'a') + event(4, 'b') + event(5, 'failed'));
  });

  it('fails for its own attempt only, and once', async () => {
    await background.enqueue(OWNER, wish('resp_1'));
    (await begin('resp_1', 2)).close();
    await background.fail('resp_1', new ServiceError('internal', ''), 1);
    assert.equal(await statusOf('resp_1'), 'in_progress');
    await background.fail('resp_1', new ServiceError('internal', ''), 2);
    assert.equal(await statusOf('resp_1'), 'failed');
    assert.equal(await background.cancel(OWNER, 'resp_1'), '{"status":"failed"}');
  });

  for (const where of ['here', 'elsewhere'] as const) {
    it(`is cancelled ${where} at once, with its job, and stays so`, async () => {
      const from = where === 'here' ? background : elsewhere;
      await background.enqueue(OWNER, wish('resp_1'));
      const running = await begin('resp_1');
      await assert.rejects(from.cancel(STRANGER, 'resp_1'), { kind: 'not-found' });
      for (let times = 0; times < 2; times++)
        assert.equal(await from.cancel(OWNER, 'resp_1'), '{"status":"cancelled"}');
      assert.deepEqual([await statusOf('resp_1'), (await jobOf('resp_1'))?.isCancelled], ['cancelled', true]);
      if (where === 'here') assert.deepEqual(rung, ['due', 'cancelled']);
      running.close();
    });
  }

  it('is cancelled only if nobody waited for it; one that is not there is not found', async () => {
    const turn = await responses.begin(OWNER, { id: 'resp_live' });
    await turn.complete({ json: '{}', input: [], output: [], isStored: true });
    await assert.rejects(background.cancel(OWNER, 'resp_live'), { kind: 'unsupported' });
    await assert.rejects(background.cancel(OWNER, 'resp_none'), { kind: 'not-found' });
  });
});

describe('the events of a response', () => {
  it('are for their owner, and of streamed ones only', async () => {
    await background.enqueue(OWNER, wish('resp_1'));
    await assert.rejects(background.tail(OWNER, 'resp_1', -1), { kind: 'unsupported', param: 'stream' });
    await background.enqueue(OWNER, wish('resp_2', STREAMED));
    await assert.rejects(background.tail(STRANGER, 'resp_2', -1), { kind: 'not-found' });
    await assert.rejects(background.tail(OWNER, 'resp_none', -1), { kind: 'not-found' });
  });

  it('are kept for a while after the end, and then refused, swept away or not', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    await background.cancel(OWNER, 'resp_1');
    nowMs += BACKGROUND_EVENTS_MS - 1;
    assert.equal(await read('resp_1', 1), event(2, 'cancelled'));
    assert.equal(await read('resp_1', 2), '');
    nowMs += 1;
    await assert.rejects(read('resp_1'), { kind: 'invalid-request', param: 'stream' });
    nowMs += 1;
    const sweep = startPastEvents({ store, clock, log: { warn: assert.fail }, every });
    await sweep.close();
    assert.deepEqual(await store.responseEvents.read('resp_1', { from: 0, chunksMax: 1 }), []);
    await assert.rejects(read('resp_1'), { kind: 'invalid-request', param: 'stream' });
    assert.equal(await statusOf('resp_1'), 'cancelled');
  });

  it('break off where their response is deleted', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    const events = (await background.tail(OWNER, 'resp_1', -1))[Symbol.asyncIterator]();
    assert.deepEqual((await events.next()).value, STREAMED.events);
    const next = events.next();
    await responses.delete(OWNER, 'resp_1');
    await assert.rejects(next, { kind: 'not-found' });
    assert.deepEqual(await store.responseEvents.read('resp_1', { from: 0, chunksMax: 1 }), []);
  });

  it('are heard at once by readers in the process that makes them, and at their next look by others', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    const running = await begin('resp_1');
    const [here, there] = await Promise.all(
      [background, elsewhere].map(async (from) => (await from.tail(OWNER, 'resp_1', 2))[Symbol.asyncIterator]()),
    );
    const heard: string[] = [];
    const hear = (who: string) => () => void heard.push(who);
    let nexts = [here?.next().then(hear('here')), there?.next().then(hear('there'))];
    void running.tell(event(3, 'a'));
    await nexts[0];
    assert.deepEqual(heard, ['here']);
    await tick();
    await nexts[1];
    nexts = [here?.next().then(hear('here')), there?.next().then(hear('there'))];
    await complete('resp_1', running, event(4, 'completed'));
    await nexts[0];
    assert.deepEqual(heard, ['here', 'there', 'here']);
    await tick();
    await nexts[1];
    for (const reader of [here, there]) assert.equal((await reader?.next())?.done, true);
  });

  it('let go of their reader at once when that leaves in mid-answer', async () => {
    await background.enqueue(OWNER, wish('resp_1', STREAMED));
    for await (const _ of await background.tail(OWNER, 'resp_1', -1)) break;
    assert.equal(timers.size, 0);
  });

  it('are the same for every reader, in any process, whenever it comes and wherever it begins', async () => {
    let made = 0;
    const pieces = fc.array(fc.integer({ min: 1, max: 4 }), { maxLength: 12 });
    const readers = fc.array(
      fc.record({ at: fc.nat(12), after: fc.integer({ min: -1, max: 40 }), isHere: fc.boolean() }),
      { minLength: 1, maxLength: 6 },
    );
    const end = fc.constantFrom('completed', 'cancelled', 'failed');
    await fc.assert(
      fc.asyncProperty(pieces, readers, end, async (counts, wishes, how) => {
        const id = `resp_${++made}`;
        await background.enqueue(OWNER, wish(id, STREAMED));
        const running = await begin(id);
        const told: Promise<string>[] = [];
        const join = (at: number): void => {
          for (const { after, isHere } of wishes.filter((reader) => reader.at === at))
            told.push(read(id, after, isHere ? background : elsewhere));
        };
        let sequence = running.nextSequence;
        const some = (count: number): string =>
          Array.from({ length: count }, () => event(sequence, `piece ${sequence++}`)).join('');
        for (const [at, count] of counts.entries()) {
          join(at);
          await running.tell(some(count));
          if (at % 3 === 0) await tick();
        }
        if (how === 'completed') await complete(id, running, some(2));
        else {
          if (how === 'cancelled') await elsewhere.cancel(OWNER, id);
          else await running.fail({ json: '{"status":"failed"}', events: some(1) });
          running.close();
        }
        for (let at = counts.length; at <= 12; at++) join(at);
        let isOver = false;
        const all = Promise.all(told).finally(() => (isOver = true));
        while (!isOver) await tick();
        const whole = await read(id);
        const events = whole.split('\n\n').slice(0, -1);
        assert.deepEqual(
          events.map((text) => Number.parseInt(text.slice('data:'.length), 10)),
          events.map((_, index) => index),
        );
        const late = [...wishes].toSorted((one, other) => one.at - other.at);
        assert.deepEqual(
          await all,
          late.map(({ after }) =>
            events
              .slice(after + 1)
              .map((text) => `${text}\n\n`)
              .join(''),
          ),
        );
      }),
      { numRuns: 60 },
    );
  });
});
