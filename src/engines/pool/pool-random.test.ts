import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import fc from 'fast-check';
import type { ErrorKind } from '../../core/error.ts';
import { ServiceError } from '../../core/error.ts';
import { ANSWER, ask, createFakeEngine } from './__fixtures__/fake-engine.ts';
import type { Outcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createStillClock } from './__fixtures__/still-clock.ts';
import { createPool } from './pool.ts';
import type { Pool } from './pool.ts';

const MEMBERS = 3;

type How = 'read' | 'leave-unread' | 'leave-early' | 'abort';

type Step =
  | { readonly type: 'move'; readonly ms: number }
  | {
      readonly type: 'request';
      readonly text: string;
      readonly outcomes: readonly Outcome[];
      readonly how: How;
      /** Goes on only after so many other steps. */
      readonly waits: number;
    };

const kinds: fc.Arbitrary<ErrorKind> = fc.constantFrom('upstream-failed', 'timeout', 'engine-failed', 'overloaded');

const outcome: fc.Arbitrary<Outcome> = fc.oneof(
  { weight: 3, arbitrary: fc.constant(ANSWER) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('fail' as const),
      at: fc.constantFrom('start', 'iteration', 'mid-answer'),
      kind: kinds,
      retryAfterSeconds: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 1, arbitrary: fc.constant<Outcome>({ type: 'vanish' }) },
  { weight: 1, arbitrary: fc.constant<Outcome>({ type: 'fail', at: 'start', kind: 'invalid-request' }) },
);

const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ type: fc.constant('move' as const), ms: fc.integer({ min: 1, max: 4_000 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('request' as const),
      text: fc.constantFrom('a', 'b', 'c', 'd'),
      outcomes: fc.array(outcome, { minLength: MEMBERS, maxLength: MEMBERS }),
      how: fc.constantFrom<How>('read', 'read', 'read', 'leave-unread', 'leave-early', 'abort'),
      waits: fc.nat(4),
    }),
  },
);

/** What is written down of one request. */
interface Trace {
  readonly outcomes: readonly Outcome[];
  readonly asked: number[];
  hasEvent: boolean;
}

function room(seed: number) {
  const clock = createStillClock();
  const traces = new Map<string, Trace>();
  /** Trials that run, by member. */
  const trials = Array.from({ length: MEMBERS }, () => new Set<string>());
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const pool: Pool = createPool({
    members: Array.from({ length: MEMBERS }, (_, at) => ({
      address: `member-${at}`,
      engine: createFakeEngine({
        outcome: ({ id }) => traces.get(id)?.outcomes[at] ?? ANSWER,
        onStart({ id }) {
          const trace = traces.get(id);
          assert.ok(!trace?.hasEvent, 'nobody is asked again after an event');
          assert.ok(!trace?.asked.includes(at), 'nobody is asked twice');
          trace?.asked.push(at);
          if (pool.describe()[at]?.state !== 'trial') return;
          trials[at]?.add(id);
          assert.equal(trials[at]?.size, 1, 'there is one trial at most');
        },
        onEvent({ id }) {
          const trace = traces.get(id);
          if (trace) trace.hasEvent = true;
          trials[at]?.delete(id);
        },
        onOver: ({ id }) => void trials[at]?.delete(id),
      }),
    })),
    log: createRecordedLog(),
    clock,
    random,
  });
  const outstanding = (): number[] => pool.describe().map((member) => member.outstanding);
  return { pool, clock, traces, trials, outstanding };
}

const isCallers = (of: Outcome | undefined): boolean => of?.type === 'fail' && of.kind === 'invalid-request';

describe('a pool, whatever happens in which order', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it('answers what a member would answer, counts right, has one trial at most, and never asks again after an event', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(), async (steps, seed) => {
        const { pool, clock, traces, trials, outstanding } = room(seed);
        let waiting: { left: number; goOn: () => Promise<void> }[] = [];
        for (const [at, each] of steps.entries()) {
          if (each.type === 'move') clock.move(each.ms);
          else {
            const id = `r${at}`;
            const trace: Trace = { outcomes: each.outcomes, asked: [], hasEvent: false };
            traces.set(id, trace);
            const goOn = await request(pool, each, {
              id,
              trace,
              onAbort: () => trials.forEach((ids) => ids.delete(id)),
            });
            waiting.push({ left: each.waits, goOn });
          }
          for (const other of waiting) if (other.left-- <= 0) await other.goOn();
          waiting = waiting.filter(({ left }) => left >= 0);
          assert.ok(outstanding().every((count) => count >= 0 && count <= waiting.length));
        }
        for (const { goOn } of waiting) await goOn();
        assert.deepEqual(outstanding(), [0, 0, 0]);

        // Nobody is left alone for ever, and nobody goes without work.
        const served = new Set<number>();
        for (let turn = 0; turn < 60 && served.size < MEMBERS; turn++) {
          clock.move(60_000);
          const id = `after-${turn}`;
          const trace: Trace = { outcomes: [ANSWER, ANSWER, ANSWER], asked: [], hasEvent: false };
          traces.set(id, trace);
          await Array.fromAsync((await pool.start(ask(id, id), new AbortController().signal)).batches);
          for (const member of trace.asked) served.add(member);
        }
        assert.equal(served.size, MEMBERS);
        assert.equal(pool.state, 'ready');
        await pool.close();
      }),
      { numRuns: 150 },
    );
  });
});

interface Around {
  readonly id: string;
  readonly trace: Trace;
  readonly onAbort: () => void;
}

/** Starts it; what comes back reads it as it is to be read, and checks what became of it. */
async function request(
  pool: Pool,
  { text, outcomes, how }: Extract<Step, { type: 'request' }>,
  { id, trace, onAbort }: Around,
): Promise<() => Promise<void>> {
  const caller = new AbortController();
  const free = (): number[] =>
    pool.describe().flatMap(({ state, waitMs = 0 }, at) => (state === 'trial' || waitMs > 0 ? [] : [at]));
  const could = free();
  const started = await pool.start(ask(text, id), caller.signal).catch((error: unknown) => ServiceError.from(error));
  if (started instanceof ServiceError) {
    checkFailure(started, { could, outcomes, trace });
    return async () => undefined;
  }
  return async () => {
    const iterator = started.batches[Symbol.asyncIterator]();
    if (how === 'leave-unread' || how === 'leave-early') {
      if (how === 'leave-early') await iterator.next().catch(() => undefined);
      await iterator.return?.();
      return onAbort();
    }
    if (how === 'abort') {
      caller.abort();
      onAbort();
      await assert.rejects(Promise.resolve(iterator.next()), { kind: 'cancelled' });
      return;
    }
    const couldThen = free();
    try {
      for (;;) {
        const { done, value } = await iterator.next();
        if (done === true) assert.fail('ended without its end');
        if (value.at(-1)?.type === 'end') break;
      }
      assert.equal((await iterator.next()).done, true);
    } catch (thrown) {
      const error = ServiceError.from(thrown);
      if (error.cause instanceof assert.AssertionError) throw error.cause;
      if (!trace.hasEvent) checkFailure(error, { could: couldThen, outcomes, trace });
    }
  };
}

interface Failure {
  /** Members that could be asked when it was put to the pool, or when its answer was first read. */
  readonly could: readonly number[];
  readonly outcomes: readonly Outcome[];
  readonly trace: Trace;
}

/** A request fails before its first event only where nobody would have said one, or where it was refused for good. */
function checkFailure(error: ServiceError, { could, outcomes, trace }: Failure): void {
  if (error.cause instanceof assert.AssertionError) throw error.cause;
  if (trace.asked.some((at) => isCallers(outcomes[at]))) return assert.equal(error.kind, 'invalid-request');
  const untried = could.filter((at) => !trace.asked.includes(at));
  assert.deepEqual(untried, [], 'every member that could be asked was asked');
  const last = trace.asked.at(-1);
  if (last === undefined) {
    assert.equal(error.kind, 'overloaded');
    assert.ok((error.retryAfterSeconds ?? 0) >= 1);
    return;
  }
  const play = outcomes[last];
  assert.ok(play?.type === 'vanish' || play?.type === 'fail');
  assert.equal(error.kind, play.type === 'fail' ? play.kind : 'engine-failed');
  if (play.type === 'fail') assert.notEqual(play.at, 'mid-answer');
}
