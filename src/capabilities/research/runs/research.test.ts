import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Owner, RequestContext } from '../../../core/context.ts';
import { ServiceError } from '../../../core/error.ts';
import { systemIdGenerator } from '../../../core/id.ts';
import { RESEARCH_UNATTENDED_MS_MAX, RESEARCH_RETENTION_MS, RESEARCH_READER_HEARTBEAT_MS } from './limits.ts';
import type { ResearchEvent, ResearchRuns, ResearchStep } from '../research.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import type { JobEvent } from '../../../resources/jobs/job-notifier.ts';
import { createRunNotifier } from '../../../resources/responses/run-notifier.ts';
import {
  createScriptedStep,
  createScriptedResearch,
  SCRIPTED_STEPS,
  REQUEST,
  getAllEvents,
} from './__fixtures__/scripted-research.ts';
import type { ResearchLifecycle } from './research-lifecycle.ts';
import { createResearchRuns } from './service.ts';
import { startResearchCleanup } from './research-cleanup.ts';
import { createResearchLifecycle } from './research-lifecycle.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER: Owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' };

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let runs: ResearchRuns;
/** The runs of another process, which gets no notifications. */
let elsewhere: ResearchRuns;
let lifecycle: ResearchLifecycle;
let timers: Map<() => void, number>;
let jobEvents: JobEvent[];
let refusal: ServiceError | undefined;
let checks: number;

const startInterval = (ms: number, run: () => void) => {
  timers.set(run, ms);
  return () => timers.delete(run);
};
const yieldToEventLoop = () => new Promise<void>((resolve) => setImmediate(resolve));
/** Runs all intervals of at most the given ms once. */
const tick = async (ms = Number.MAX_SAFE_INTEGER): Promise<void> => {
  for (const [run, intervalMs] of timers) if (intervalMs <= ms) run();
  await yieldToEventLoop();
};

beforeEach(async () => {
  nowMs = START;
  timers = new Map();
  jobEvents = [];
  refusal = undefined;
  checks = 0;
  store = await openTestStore();
  const notifier = createRunNotifier();
  const jobNotifier = { notify: (event: JobEvent) => void jobEvents.push(event) };
  const research = createScriptedResearch({
    async check() {
      checks += 1;
      if (refusal) throw refusal;
    },
  });
  const limits = { runsPerKey: 2, runsPerWorkspace: 3 };
  const deps = { store, clock, ids: systemIdGenerator, research, limits, startInterval };
  runs = createResearchRuns({ ...deps, notifier, jobNotifier });
  elsewhere = createResearchRuns({ ...deps, notifier: createRunNotifier(), jobNotifier: { notify: () => undefined } });
  lifecycle = createResearchLifecycle({ store, clock, notifier, jobNotifier });
});
afterEach(async () => {
  assert.equal(timers.size, 0, 'an interval is still running');
  await store.close();
});

interface Reader {
  readonly id: string;
  readonly logFields: Record<string, unknown>;
  readonly events: AsyncIterator<readonly ResearchEvent[]>;
  leave(): Promise<void>;
}

async function open({ owner = OWNER, fingerprint = 'same', from = runs } = {}): Promise<Reader> {
  const reader = new AbortController();
  const logFields: Record<string, unknown> = {};
  const log = { add: (more: object) => void Object.assign(logFields, more), warn: () => undefined };
  const context: RequestContext = { requestId: 'r', owner, signal: reader.signal, log };
  const events = (await from.open({ request: REQUEST, fingerprint: fingerprint }, context))[Symbol.asyncIterator]();
  return {
    id: String(logFields['research']),
    logFields: logFields,
    events,
    async leave() {
      reader.abort(new ServiceError('cancelled', 'left'));
      await events.next().catch(() => undefined);
      await events.return?.();
    },
  };
}
const next = async ({ events }: Reader): Promise<readonly ResearchEvent[]> => (await events.next()).value ?? [];
async function readAll({ events }: Reader): Promise<readonly ResearchEvent[]> {
  const all: ResearchEvent[] = [];
  for (let step = await events.next(); step.done !== true; step = await events.next()) all.push(...step.value);
  return all;
}

/** Executes steps of a run like its job. */
async function advance(id: string, count = SCRIPTED_STEPS): Promise<void> {
  const attempt = ((await store.research.findSummary(id))?.attempt ?? 0) + 1;
  const attemptState = (await lifecycle.startAttempt(id, attempt)) ?? assert.fail('the run cannot be started');
  const steps: ResearchStep[] = [...attemptState.pastSteps];
  for (let left = count; left > 0 && steps.length < SCRIPTED_STEPS; left -= 1) {
    const step = createScriptedStep(steps);
    const number = steps.length;
    assert.ok(await lifecycle.append(id, { attempt, number, step, isLast: number === SCRIPTED_STEPS - 1 }));
    steps.push(step);
  }
}
const findState = async (id: string) => (await store.research.findSummary(id))?.state;
const findJob = (id: string) => store.jobs.findBySubject('research', id);

describe('deep research runs', () => {
  it('creates a run with its job and streams events while it runs', async () => {
    const reader = await open();
    assert.deepEqual([jobEvents, checks, reader.logFields['researchGoesOn']], [['due'], 1, false]);
    assert.deepEqual([(await findJob(reader.id))?.owner, (await findJob(reader.id))?.payload], [OWNER, {}]);
    assert.deepEqual((await lifecycle.startAttempt(reader.id, 1))?.request, REQUEST);
    const first = next(reader);
    await yieldToEventLoop();
    await lifecycle.append(reader.id, { attempt: 1, number: 0, step: createScriptedStep([]), isLast: false });
    assert.deepEqual(await first, createScriptedStep([]).events);
    await advance(reader.id);
    assert.deepEqual([...(await first), ...(await readAll(reader))], getAllEvents());
    assert.equal((await store.research.findSummary(reader.id))?.isDelivered, true);
  });

  it('attaches the same request to the run, from the first event', async () => {
    const one = await open();
    await advance(one.id, 3);
    assert.deepEqual(await next(one), getAllEvents(3));
    const two = await open();
    const three = await open({ from: elsewhere });
    assert.deepEqual([two.id, three.id, two.logFields['researchGoesOn'], checks], [one.id, one.id, true, 1]);
    const others = Promise.all([readAll(two), readAll(three)]);
    await yieldToEventLoop();
    await advance(one.id);
    await tick();
    await one.leave();
    assert.deepEqual(await others, [getAllEvents(), getAllEvents()]);
  });

  it('does not attach another tenant, key or request', async () => {
    const { id, leave } = await open();
    for (const other of [
      { owner: { ...OWNER, keyId: 'key_2' } },
      { owner: { ...OWNER, workspace: 'other' } },
      { owner: { ...OWNER, region: 'us-east-1' as const } },
      { fingerprint: 'another' },
    ]) {
      const reader = await open(other);
      assert.notEqual(reader.id, id);
      await store.research.finish(reader.id, { state: 'done', at: nowMs });
      await reader.leave();
    }
    await leave();
  });

  it('creates one run for concurrent equal requests', async () => {
    const readers = await Promise.all([open(), open({ from: elsewhere }), open()]);
    assert.equal(new Set(readers.map(({ id }) => id)).size, 1);
    for (const { leave } of readers) await leave();
  });

  it('creates nothing if the pipeline refuses the request', async () => {
    refusal = new ServiceError('model-not-found', 'no such model');
    await assert.rejects(open(), { kind: 'model-not-found' });
    assert.deepEqual([jobEvents, await store.research.countUnfinished(OWNER)], [[], 0]);
  });

  it('limits unfinished runs per key and per workspace', async () => {
    const readers = [await open({ fingerprint: 'a' }), await open({ fingerprint: 'b' })];
    await assert.rejects(open({ fingerprint: 'c' }), {
      kind: 'rate-limited',
      message: /^This key has 2 deep research runs/,
    });
    assert.equal((await open({ fingerprint: 'a' })).id, readers[0]?.id);
    await open({ owner: { ...OWNER, keyId: 'key_2' }, fingerprint: 'a' });
    const third = { ...OWNER, keyId: 'key_3' };
    await assert.rejects(open({ owner: third }), { kind: 'rate-limited', message: /^This workspace has 3/ });
    await open({ owner: { ...third, region: 'us-east-1' } });
    await advance(readers[0]?.id ?? '');
    await open({ fingerprint: 'c' });
  });

  it('can be read after its end until it was delivered', async () => {
    const one = await open();
    await one.leave();
    await advance(one.id);
    nowMs += RESEARCH_UNATTENDED_MS_MAX;
    const two = await open();
    assert.equal(two.id, one.id);
    assert.deepEqual(await readAll(two), getAllEvents());
    assert.notEqual((await open()).id, one.id);
  });

  it('creates a new run if the old one ended too long ago', async () => {
    const one = await open();
    await advance(one.id);
    nowMs += RESEARCH_UNATTENDED_MS_MAX + 1;
    assert.notEqual((await open()).id, one.id);
  });

  it('reports a failure after the stored events', async () => {
    const failure = new ServiceError('context-exceeded', 'too long', { param: 'input', retryAfterSeconds: 3 });
    const expected = { kind: 'context-exceeded', message: 'too long', param: 'input', retryAfterSeconds: 3 };
    const silent = await open({ fingerprint: 'silent' });
    const first = silent.events.next();
    await lifecycle.fail(silent.id, failure);
    await assert.rejects(first, expected);

    const broken = await open({ fingerprint: 'broken' });
    await advance(broken.id, 1);
    await lifecycle.fail(broken.id, failure);
    assert.deepEqual(await next(broken), createScriptedStep([]).events);
    await assert.rejects(broken.events.next(), expected);
    assert.notEqual((await open({ fingerprint: 'broken' })).id, broken.id);
  });

  it('reports cancellation to readers, and creates a new run afterwards', async () => {
    const one = await open();
    const first = one.events.next();
    await lifecycle.cancel(one.id);
    await assert.rejects(first, { kind: 'cancelled' });
    assert.deepEqual([(await findJob(one.id))?.isCancelled, jobEvents], [true, ['due', 'cancelled']]);
    assert.notEqual((await open()).id, one.id);
  });

  it('stays active while it is read, and records the time when a reader leaves', async () => {
    const reader = await open();
    const pending = reader.events.next().catch(() => undefined);
    await yieldToEventLoop();
    nowMs += 40_000;
    await tick(RESEARCH_READER_HEARTBEAT_MS);
    assert.equal((await store.research.findSummary(reader.id))?.readAt, nowMs);
    nowMs += 40_000;
    await reader.leave();
    await pending;
    assert.equal((await store.research.findSummary(reader.id))?.readAt, nowMs);
    nowMs += RESEARCH_UNATTENDED_MS_MAX;
    assert.equal(await lifecycle.getStatus(reader.id), 'active');
    await lifecycle.cancelUnread(reader.id);
    nowMs += 1;
    assert.equal(await lifecycle.getStatus(reader.id), 'unread');
    await lifecycle.cancelUnread(reader.id);
    assert.deepEqual([await lifecycle.getStatus(reader.id), await findState(reader.id)], ['ended', 'cancelled']);
  });

  it('rejects with the reason of an aborted signal', async () => {
    const { id } = await open();
    const reader = new AbortController();
    const log = { add: () => undefined, warn: () => undefined };
    const context: RequestContext = { requestId: 'r', owner: OWNER, signal: reader.signal, log };
    const events = await runs.open({ request: REQUEST, fingerprint: 'same' }, context);
    const first = events[Symbol.asyncIterator]().next();
    await yieldToEventLoop();
    reader.abort(new ServiceError('timeout', 'over'));
    await assert.rejects(first, { kind: 'timeout' });
    assert.equal(await findState(id), 'queued');
  });

  it('refuses steps of a superseded attempt and after the end', async () => {
    const { id } = await open();
    await advance(id, 1);
    await lifecycle.startAttempt(id, 5);
    const append = (attempt: number) =>
      lifecycle.append(id, { attempt, number: 1, step: createScriptedStep([createScriptedStep([])]), isLast: false });
    assert.deepEqual([await append(1), await append(5), await append(5)], [false, true, false]);
    await lifecycle.fail(id, new ServiceError('timeout', ''), 1);
    assert.equal(await findState(id), 'running');
    await lifecycle.fail(id, new ServiceError('timeout', ''), 5);
    await lifecycle.cancel(id);
    assert.deepEqual([await findState(id), await lifecycle.startAttempt(id, 6)], ['failed', undefined]);
  });
});

describe('deep research cleanup', () => {
  const runCleanup = async (): Promise<void> => {
    const log = { warn: (message: string, fields?: unknown) => assert.fail(`${message} ${JSON.stringify(fields)}`) };
    const cleanup = startResearchCleanup({ store, lifecycle: lifecycle, clock, log, startInterval });
    await yieldToEventLoop();
    await cleanup.close();
  };

  it('cancels unread runs, queued ones included', async () => {
    const { id } = await open();
    nowMs += RESEARCH_UNATTENDED_MS_MAX;
    await runCleanup();
    assert.equal(await findState(id), 'queued');
    nowMs += 1;
    await runCleanup();
    assert.deepEqual([await findState(id), (await findJob(id))?.isCancelled], ['cancelled', true]);
  });

  it('removes a run after its retention time, but not while it is read', async () => {
    const one = await open();
    await advance(one.id);
    const slow = await open();
    await next(slow);
    nowMs += RESEARCH_RETENTION_MS + 1;
    await tick(RESEARCH_READER_HEARTBEAT_MS);
    await runCleanup();
    assert.equal(await findState(one.id), 'done');
    await slow.leave();
    nowMs += RESEARCH_RETENTION_MS + 1;
    await runCleanup();
    assert.deepEqual([await findState(one.id), await lifecycle.readSteps(one.id)], [undefined, []]);
    await assert.rejects(one.events.next(), { kind: 'cancelled', message: /have been removed/ });
  });
});
