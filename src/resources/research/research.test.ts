import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { Owner, RequestContext } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIds } from '../../core/id.ts';
import { RESEARCH_ATTACH_MS, RESEARCH_KEPT_MS, RESEARCH_SIGN_MS } from '../../core/limits.ts';
import type { ResearchEvent, ResearchRuns, ResearchStep } from '../../core/research.ts';
import { sqliteDialect } from '../../store/dialects/sqlite.ts';
import { openStore, type Store } from '../../store/store.ts';
import type { JobNews } from '../jobs/job-bell.ts';
import { createRunBell } from '../responses/run-bell.ts';
import { playedStep, playResearch, PLAYED_STEPS, REQUEST, wholeRun } from './__fixtures__/played-research.ts';
import type { ResearchWork } from './research-work.ts';
import { createResearchRuns } from './service.ts';
import { startResearchSweep } from './sweep.ts';
import { createResearchWork } from './work.ts';

const START = Date.parse('2026-07-01T12:00:00Z');
const OWNER: Owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' };

let nowMs = START;
const clock = { now: () => nowMs, monotonic: () => nowMs - START };
let store: Store;
let runs: ResearchRuns;
/** As a process elsewhere has them: nothing rings there. */
let elsewhere: ResearchRuns;
let work: ResearchWork;
let timers: Map<() => void, number>;
let rung: JobNews[];
let refusal: ServiceError | undefined;
let checks: number;

const every = (ms: number, run: () => void) => {
  timers.set(run, ms);
  return () => timers.delete(run);
};
const settled = () => new Promise<void>((resolve) => setImmediate(resolve));
/** All timers of at most so many ms run once. */
const tick = async (ms = Number.MAX_SAFE_INTEGER): Promise<void> => {
  for (const [run, everyMs] of timers) if (everyMs <= ms) run();
  await settled();
};

beforeEach(async () => {
  nowMs = START;
  timers = new Map();
  rung = [];
  refusal = undefined;
  checks = 0;
  store = await openStore({ dialect: sqliteDialect({ file: ':memory:' }) });
  const bell = createRunBell();
  const jobBell = { ring: (news: JobNews) => void rung.push(news) };
  const research = playResearch({
    async check() {
      checks += 1;
      if (refusal) throw refusal;
    },
  });
  const limits = { runsPerKey: 2, runsPerWorkspace: 3 };
  const needs = { store, clock, ids: systemIds, research, limits, every };
  runs = createResearchRuns({ ...needs, bell, jobBell });
  elsewhere = createResearchRuns({ ...needs, bell: createRunBell(), jobBell: { ring: () => undefined } });
  work = createResearchWork({ store, clock, bell, jobBell });
});
afterEach(async () => {
  assert.equal(timers.size, 0, 'something goes on looking');
  await store.close();
});

interface Reader {
  readonly id: string;
  readonly facts: Record<string, unknown>;
  readonly events: AsyncIterator<readonly ResearchEvent[]>;
  leave(): Promise<void>;
}

async function open({ owner = OWNER, likeness = 'same', from = runs } = {}): Promise<Reader> {
  const gone = new AbortController();
  const facts: Record<string, unknown> = {};
  const log = { add: (more: object) => void Object.assign(facts, more), warn: () => undefined };
  const context: RequestContext = { requestId: 'r', owner, signal: gone.signal, log };
  const events = (await from.open({ request: REQUEST, likeness }, context))[Symbol.asyncIterator]();
  return {
    id: String(facts['research']),
    facts,
    events,
    async leave() {
      gone.abort(new ServiceError('cancelled', 'left'));
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

/** Works at a run as its job would. */
async function advance(id: string, count = PLAYED_STEPS): Promise<void> {
  const attempt = ((await store.research.findState(id))?.attempt ?? 0) + 1;
  const begun = (await work.begin(id, attempt)) ?? assert.fail('there is nothing to be done');
  const steps: ResearchStep[] = [...begun.past];
  for (let left = count; left > 0 && steps.length < PLAYED_STEPS; left -= 1) {
    const step = playedStep(steps);
    const number = steps.length;
    assert.ok(await work.append(id, { attempt, number, step, isLast: number === PLAYED_STEPS - 1 }));
    steps.push(step);
  }
}
const stateOf = async (id: string) => (await store.research.findState(id))?.state;
const jobOf = (id: string) => store.jobs.findBySubject('research', id);

describe('a run of deep research and its readers', () => {
  it('begins with its job, and is read while it is made', async () => {
    const reader = await open();
    assert.deepEqual([rung, checks, reader.facts['researchGoesOn']], [['due'], 1, false]);
    assert.deepEqual([(await jobOf(reader.id))?.owner, (await jobOf(reader.id))?.payload], [OWNER, {}]);
    assert.deepEqual((await work.begin(reader.id, 1))?.request, REQUEST);
    const first = next(reader);
    await settled();
    await work.append(reader.id, { attempt: 1, number: 0, step: playedStep([]), isLast: false });
    assert.deepEqual(await first, playedStep([]).tell);
    await advance(reader.id);
    assert.deepEqual([...(await first), ...(await readAll(reader))], wholeRun());
    assert.equal((await store.research.findState(reader.id))?.isDelivered, true);
  });

  it('is gone on with by the same request, from the first event', async () => {
    const one = await open();
    await advance(one.id, 3);
    assert.deepEqual(await next(one), wholeRun(3));
    const two = await open();
    const three = await open({ from: elsewhere });
    assert.deepEqual([two.id, three.id, two.facts['researchGoesOn'], checks], [one.id, one.id, true, 1]);
    const others = Promise.all([readAll(two), readAll(three)]);
    await settled();
    await advance(one.id);
    await tick();
    await one.leave();
    assert.deepEqual(await others, [wholeRun(), wholeRun()]);
  });

  it('is nobody else’s, and of no other request', async () => {
    const { id, leave } = await open();
    for (const other of [
      { owner: { ...OWNER, keyId: 'key_2' } },
      { owner: { ...OWNER, workspace: 'other' } },
      { owner: { ...OWNER, region: 'us-east-1' as const } },
      { likeness: 'another' },
    ]) {
      const reader = await open(other);
      assert.notEqual(reader.id, id);
      await store.research.end(reader.id, { state: 'done', at: nowMs });
      await reader.leave();
    }
    await leave();
  });

  it('is one when the same is asked for twice at the same moment', async () => {
    const readers = await Promise.all([open(), open({ from: elsewhere }), open()]);
    assert.equal(new Set(readers.map(({ id }) => id)).size, 1);
    for (const { leave } of readers) await leave();
  });

  it('is refused as a live one is, before there is anything', async () => {
    refusal = new ServiceError('model-not-found', 'no such model');
    await assert.rejects(open(), { kind: 'model-not-found' });
    assert.deepEqual([rung, await store.research.countUnfinished(OWNER)], [[], 0]);
  });

  it('is one of so many of its key and its workspace', async () => {
    const own = [await open({ likeness: 'a' }), await open({ likeness: 'b' })];
    await assert.rejects(open({ likeness: 'c' }), {
      kind: 'rate-limited',
      message: /^This key has 2 deep research runs/,
    });
    assert.equal((await open({ likeness: 'a' })).id, own[0]?.id);
    await open({ owner: { ...OWNER, keyId: 'key_2' }, likeness: 'a' });
    const third = { ...OWNER, keyId: 'key_3' };
    await assert.rejects(open({ owner: third }), { kind: 'rate-limited', message: /^This workspace has 3/ });
    await open({ owner: { ...third, region: 'us-east-1' } });
    await advance(own[0]?.id ?? '');
    await open({ likeness: 'c' });
  });

  it('can be read again after its end, while nobody was given that', async () => {
    const one = await open();
    await one.leave();
    await advance(one.id);
    nowMs += RESEARCH_ATTACH_MS;
    const two = await open();
    assert.equal(two.id, one.id);
    assert.deepEqual(await readAll(two), wholeRun());
    assert.notEqual((await open()).id, one.id);
  });

  it('begins anew where its end is too long ago', async () => {
    const one = await open();
    await advance(one.id);
    nowMs += RESEARCH_ATTACH_MS + 1;
    assert.notEqual((await open()).id, one.id);
  });

  it('fails at once where nothing was told, and behind what was', async () => {
    const failure = new ServiceError('context-exceeded', 'too long', { param: 'input', retryAfterSeconds: 3 });
    const told = { kind: 'context-exceeded', message: 'too long', param: 'input', retryAfterSeconds: 3 };
    const silent = await open({ likeness: 'silent' });
    const first = silent.events.next();
    await work.fail(silent.id, failure);
    await assert.rejects(first, told);

    const broken = await open({ likeness: 'broken' });
    await advance(broken.id, 1);
    await work.fail(broken.id, failure);
    assert.deepEqual(await next(broken), playedStep([]).tell);
    await assert.rejects(broken.events.next(), told);
    assert.notEqual((await open({ likeness: 'broken' })).id, broken.id);
  });

  it('tells its readers that it was cancelled, and begins anew then', async () => {
    const one = await open();
    const first = one.events.next();
    await work.cancel(one.id);
    await assert.rejects(first, { kind: 'cancelled' });
    assert.deepEqual([(await jobOf(one.id))?.isCancelled, rung], [true, ['due', 'cancelled']]);
    assert.notEqual((await open()).id, one.id);
  });

  it('lives by the signs of its readers, the last of which comes when they leave', async () => {
    const reader = await open();
    const waiting = reader.events.next().catch(() => undefined);
    await settled();
    nowMs += 40_000;
    await tick(RESEARCH_SIGN_MS);
    assert.equal((await store.research.findState(reader.id))?.readAt, nowMs);
    nowMs += 40_000;
    await reader.leave();
    await waiting;
    assert.equal((await store.research.findState(reader.id))?.readAt, nowMs);
    nowMs += RESEARCH_ATTACH_MS;
    assert.equal(await work.standingOf(reader.id), 'wanted');
    await work.cancelUnread(reader.id);
    nowMs += 1;
    assert.equal(await work.standingOf(reader.id), 'unread');
    await work.cancelUnread(reader.id);
    assert.deepEqual([await work.standingOf(reader.id), await stateOf(reader.id)], ['ended', 'cancelled']);
  });

  it('breaks off for a reader whose time is over, with the reason', async () => {
    const { id } = await open();
    const gone = new AbortController();
    const log = { add: () => undefined, warn: () => undefined };
    const context: RequestContext = { requestId: 'r', owner: OWNER, signal: gone.signal, log };
    const events = await runs.open({ request: REQUEST, likeness: 'same' }, context);
    const first = events[Symbol.asyncIterator]().next();
    await settled();
    gone.abort(new ServiceError('timeout', 'over'));
    await assert.rejects(first, { kind: 'timeout' });
    assert.equal(await stateOf(id), 'queued');
  });

  it('takes no step of an attempt that has lost it, and none behind its end', async () => {
    const { id } = await open();
    await advance(id, 1);
    await work.begin(id, 5);
    const append = (attempt: number) =>
      work.append(id, { attempt, number: 1, step: playedStep([playedStep([])]), isLast: false });
    assert.deepEqual([await append(1), await append(5), await append(5)], [false, true, false]);
    await work.fail(id, new ServiceError('timeout', ''), 1);
    assert.equal(await stateOf(id), 'running');
    await work.fail(id, new ServiceError('timeout', ''), 5);
    await work.cancel(id);
    assert.deepEqual([await stateOf(id), await work.begin(id, 6)], ['failed', undefined]);
  });
});

describe('the sweep of deep research', () => {
  const sweep = async (): Promise<void> => {
    const log = { warn: (message: string, facts?: unknown) => assert.fail(`${message} ${JSON.stringify(facts)}`) };
    const sweeper = startResearchSweep({ store, work, clock, log, every });
    await settled();
    await sweeper.close();
  };

  it('cancels what nobody reads, also before its turn', async () => {
    const { id } = await open();
    nowMs += RESEARCH_ATTACH_MS;
    await sweep();
    assert.equal(await stateOf(id), 'queued');
    nowMs += 1;
    await sweep();
    assert.deepEqual([await stateOf(id), (await jobOf(id))?.isCancelled], ['cancelled', true]);
  });

  it('removes a run some time after its end, and not under a reader', async () => {
    const one = await open();
    await advance(one.id);
    const slow = await open();
    await next(slow);
    nowMs += RESEARCH_KEPT_MS + 1;
    await tick(RESEARCH_SIGN_MS);
    await sweep();
    assert.equal(await stateOf(one.id), 'done');
    await slow.leave();
    nowMs += RESEARCH_KEPT_MS + 1;
    await sweep();
    assert.deepEqual([await stateOf(one.id), await work.stepsOf(one.id)], [undefined, []]);
    await assert.rejects(one.events.next(), { kind: 'cancelled', message: /not kept any more/ });
  });
});
