import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { ServiceError, type ErrorKind } from '../../core/error.ts';
import { ANSWER, createTestRequest, createFakeEngine, type FakeOutcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import { createPool, type Pool } from './pool.ts';

const MEMBERS = 3;

type ReadMode = 'read' | 'leave-unread' | 'leave-early' | 'abort';

type RandomStep =
  | { readonly type: 'move'; readonly ms: number }
  | {
      readonly type: 'request';
      readonly text: string;
      readonly key: string;
      readonly outcomes: readonly FakeOutcome[];
      readonly how: ReadMode;
      /** Number of steps after which the answer is read. */
      readonly waits: number;
    };

const kinds: fc.Arbitrary<ErrorKind> = fc.constantFrom('upstream-failed', 'timeout', 'engine-failed', 'overloaded');

const outcome: fc.Arbitrary<FakeOutcome> = fc.oneof(
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
  {
    weight: 2,
    arbitrary: fc.record({
      type: fc.constant('fail' as const),
      at: fc.constantFrom('start', 'iteration', 'mid-answer'),
      kind: fc.constant<ErrorKind>('upstream-failed'),
      isAmbiguous: fc.constant(true),
    }),
  },
  { weight: 1, arbitrary: fc.constant<FakeOutcome>({ type: 'vanish' }) },
  { weight: 1, arbitrary: fc.constant<FakeOutcome>({ type: 'fail', at: 'start', kind: 'invalid-request' }) },
);

const step: fc.Arbitrary<RandomStep> = fc.oneof(
  { weight: 1, arbitrary: fc.record({ type: fc.constant('move' as const), ms: fc.integer({ min: 1, max: 4_000 }) }) },
  {
    weight: 4,
    arbitrary: fc.record({
      type: fc.constant('request' as const),
      text: fc.constantFrom('a', 'b', 'c', 'd'),
      key: fc.constantFrom('k1', 'k2', 'k3', 'k4', 'k5', 'k6', 'k7'),
      outcomes: fc.array(outcome, { minLength: MEMBERS, maxLength: MEMBERS }),
      how: fc.constantFrom<ReadMode>('read', 'read', 'read', 'leave-unread', 'leave-early', 'abort'),
      waits: fc.nat(4),
    }),
  },
);

/** Record of one request. */
interface Trace {
  readonly outcomes: readonly FakeOutcome[];
  readonly triedMembers: number[];
  hasEvent: boolean;
}

function createTestPool(seed: number) {
  const clock = createManualClock();
  const traces = new Map<string, Trace>();
  /** Running half-open attempts, by member. */
  const halfOpenRequests = Array.from({ length: MEMBERS }, () => new Set<string>());
  let state = seed;
  const random = (): number => {
    state = (Math.imul(state, 1_103_515_245) + 12_345) >>> 0;
    return state / 2 ** 32;
  };
  const pool: Pool = createPool({
    endpoints: Array.from({ length: MEMBERS }, (_, at) => ({
      address: `member-${at}`,
      engine: createFakeEngine({
        outcome: ({ id }) => traces.get(id)?.outcomes[at] ?? ANSWER,
        onStart({ id }) {
          const trace = traces.get(id);
          assert.ok(!trace?.hasEvent, 'no member is tried again after an event');
          assert.ok(!trace?.triedMembers.includes(at), 'no member is tried twice');
          trace?.triedMembers.push(at);
          const states = pool.describe().map((member) => member.state);
          if (states[at] !== 'trial') return;
          halfOpenRequests[at]?.add(id);
          const isUrgent = states.every((each) => each === 'down' || each === 'trial');
          assert.ok(
            isUrgent || halfOpenRequests[at]?.size === 1,
            'at most one half-open attempt runs while another member is in use',
          );
        },
        onEvent({ id }) {
          const trace = traces.get(id);
          if (trace) trace.hasEvent = true;
          halfOpenRequests[at]?.delete(id);
        },
        onFinish: ({ id }) => void halfOpenRequests[at]?.delete(id),
      }),
    })),
    log: createRecordedLog(),
    clock,
    random,
  });
  const outstanding = (): number[] => pool.describe().map((member) => member.outstanding);
  return { pool, clock, traces, trials: halfOpenRequests, outstanding };
}

const isAmbiguous = (of: FakeOutcome | undefined): boolean => of?.type === 'fail' && of.isAmbiguous === true;

const isCallersFault = (of: FakeOutcome | undefined): boolean => of?.type === 'fail' && of.kind === 'invalid-request';

describe('pool under random sequences of events', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  it("gives a member's answer, counts requests correctly, has one half-open attempt at most, and never retries after an event", async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 60 }), fc.nat(), async (steps, seed) => {
        const { pool, clock, traces, trials, outstanding } = createTestPool(seed);
        let waiting: { left: number; resume: () => Promise<void> }[] = [];
        for (const [at, each] of steps.entries()) {
          if (each.type === 'move') clock.advance(each.ms);
          else {
            const id = `r${at}`;
            const trace: Trace = { outcomes: each.outcomes, triedMembers: [], hasEvent: false };
            traces.set(id, trace);
            const resume = await request(pool, each, {
              id,
              trace,
              onAbort: () => trials.forEach((ids) => ids.delete(id)),
            });
            waiting.push({ left: each.waits, resume: resume });
          }
          for (const other of waiting) if (other.left-- <= 0) await other.resume();
          waiting = waiting.filter(({ left }) => left >= 0);
          assert.ok(outstanding().every((count) => count >= 0 && count <= waiting.length));
        }
        for (const { resume } of waiting) await resume();
        assert.deepEqual(outstanding(), [0, 0, 0]);

        // No member stays disabled for ever, and no member stays without work.
        const served = new Set<number>();
        for (let turn = 0; turn < 60 && served.size < MEMBERS; turn++) {
          clock.advance(60_000);
          const id = `after-${turn}`;
          const trace: Trace = { outcomes: [ANSWER, ANSWER, ANSWER], triedMembers: [], hasEvent: false };
          traces.set(id, trace);
          await Array.fromAsync((await pool.start(createTestRequest(id, id), new AbortController().signal)).batches);
          for (const member of trace.triedMembers) served.add(member);
        }
        assert.equal(served.size, MEMBERS);
        assert.equal(pool.state, 'ready');
        await pool.close();
      }),
      { numRuns: scalePropertyRuns(150) },
    );
  });
});

interface RequestContext {
  readonly id: string;
  readonly trace: Trace;
  readonly onAbort: () => void;
}

/** Starts a request. The returned function reads the answer in the given way and checks its result. */
async function request(
  pool: Pool,
  { text, key, outcomes, how }: Extract<RandomStep, { type: 'request' }>,
  { id, trace, onAbort }: RequestContext,
): Promise<() => Promise<void>> {
  const caller = new AbortController();
  const listAvailable = (): number[] =>
    pool.describe().flatMap(({ state, waitMs = 0 }, at) => (state === 'trial' || waitMs > 0 ? [] : [at]));
  const available = listAvailable();
  const started = await pool
    .start(createTestRequest(text, id, key), caller.signal)
    .catch((error: unknown) => ServiceError.from(error));
  if (started instanceof ServiceError) {
    checkFailure(started, { available, outcomes, trace });
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
    const couldThen = listAvailable();
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
      if (!trace.hasEvent) checkFailure(error, { available: couldThen, outcomes, trace });
    }
  };
}

interface FailureContext {
  /** Members that were available when the pool received the request, or when its answer was first read. */
  readonly available: readonly number[];
  readonly outcomes: readonly FakeOutcome[];
  readonly trace: Trace;
}

/** Checks that a request without any event failed by its own fault, or that no available member would have answered. */
function checkFailure(error: ServiceError, { available, outcomes, trace }: FailureContext): void {
  if (error.cause instanceof assert.AssertionError) throw error.cause;
  if (trace.triedMembers.some((at) => isCallersFault(outcomes[at]))) return assert.equal(error.kind, 'invalid-request');
  const ambiguousAt = trace.triedMembers.findIndex((at) => isAmbiguous(outcomes[at]));
  if (ambiguousAt >= 0)
    assert.ok(
      trace.triedMembers.length <= ambiguousAt + 2,
      'after an ambiguous failure at most one other member is tried',
    );
  const untried =
    ambiguousAt >= 0 && trace.triedMembers.length === ambiguousAt + 2
      ? []
      : available.filter((at) => !trace.triedMembers.includes(at));
  assert.deepEqual(untried, [], 'every available member was tried');
  const last = trace.triedMembers.at(-1);
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
