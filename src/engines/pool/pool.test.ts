import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { ServiceError, type ErrorKind } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import {
  POOL_CALLER_AVOID_MS,
  POOL_CALLER_FAILURES_MAX,
  POOL_SINGLE_BACKOFF_MS_MAX,
  POOL_MODEL_RETRY_MS,
  POOL_MODEL_UNKNOWN_RETRY_MS,
  POOL_MODEL_WAIT_MS,
  POOL_UNREAD_MS_MAX,
  POOL_LAST_RESORT_INTERVAL_MS,
} from './limits.ts';
import type { EngineRequest, EngineRun, LoadedModel, TextEngine } from '../engine.ts';
import {
  ANSWER,
  createTestRequest,
  createFakeEngine,
  END,
  MODEL,
  TEXT,
  type FakeOutcome,
} from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import { createPool, type PoolOptions } from './pool.ts';

const never = new AbortController().signal;
const createFailure = (kind: ErrorKind, at: 'start' | 'iteration' | 'mid-answer' = 'start'): FakeOutcome => ({
  type: 'fail',
  at,
  kind,
});

async function readEvents({ batches }: EngineRun, into: EngineEvent[] = []): Promise<EngineEvent[]> {
  for await (const batch of batches) into.push(...batch);
  return into;
}

async function getRejection(call: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await call.then(
    () => assert.fail('did not reject'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

/** Creates a pool of fake engines; engine i follows `plays[i]`. */
function createTestPool(
  plays: readonly FakeOutcome[],
  parts: readonly Partial<TextEngine>[] = [],
  options: PoolOptions = {},
) {
  const outcomes = [...plays];
  const starts: number[] = [];
  const clock = createManualClock();
  const log = createRecordedLog();
  const members = plays.map((_, at) => ({
    address: `http://user:secret@host-${at}:80${at}/v1?key=secret`,
    engine: createFakeEngine(
      { outcome: () => outcomes[at] ?? ANSWER, onStart: () => void starts.push(at) },
      parts[at] ?? {},
    ),
  }));
  const pool = createPool({ endpoints: members, log, clock, random: () => 0, options });
  const busy = (): number => pool.describe().reduce((sum, { outstanding }) => sum + outstanding, 0);
  const answer = async (request: EngineRequest = createTestRequest()): Promise<EngineEvent[]> =>
    readEvents(await pool.start(request, never));
  return { pool, outcomes, starts, clock, log, busy, answer };
}

describe('pool', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const before = [
    { name: 'a start that fails', play: createFailure('upstream-failed') },
    { name: 'a start that takes too long', play: createFailure('timeout') },
    { name: 'an engine that fails', play: createFailure('engine-failed') },
    { name: 'a busy address', play: createFailure('overloaded') },
    { name: 'an answer that breaks before its first event', play: createFailure('upstream-failed', 'iteration') },
    { name: 'an answer that ends without an event', play: { type: 'vanish' } },
  ] satisfies readonly { name: string; play: FakeOutcome }[];
  for (const { name, play } of before) {
    it(`answers from another address after ${name}`, async () => {
      const { starts, answer, busy, pool } = createTestPool([play, play, ANSWER]);
      assert.deepEqual(await answer(), [TEXT, TEXT, END]);
      assert.equal(starts.at(-1), 2);
      assert.equal(new Set(starts).size, starts.length);
      assert.equal(busy(), 0);
      await pool.close();
    });
  }

  it('passes on a failure after the first event, without a retry', async () => {
    const play = createFailure('upstream-failed', 'mid-answer');
    const { starts, pool, busy } = createTestPool([play, play, play]);
    const events: EngineEvent[] = [];
    const started = await pool.start(createTestRequest(), never);
    assert.equal((await getRejection(readEvents(started, events))).kind, 'upstream-failed');
    assert.deepEqual(events, [TEXT]);
    assert.equal(starts.length, 1);
    assert.equal(busy(), 0);
  });

  for (const kind of ['invalid-request', 'unsupported', 'too-large', 'rate-limited', 'internal'] as const) {
    it(`passes on ${kind} at once, without counting it as a failure of the member`, async () => {
      const { starts, pool } = createTestPool([createFailure(kind), createFailure(kind)]);
      for (let time = 1; time <= 5; time++) {
        assert.equal((await getRejection(pool.start(createTestRequest(), never))).kind, kind);
        assert.equal(starts.length, time);
      }
      assert.deepEqual(
        pool.describe().map(({ state }) => state),
        ['ready', 'ready'],
      );
    });
  }

  it('fails with the last failure when all fail, after at most the maximum of attempts', async () => {
    const { starts, pool } = createTestPool([
      createFailure('timeout'),
      createFailure('timeout'),
      createFailure('timeout'),
      createFailure('timeout'),
    ]);
    assert.equal((await getRejection(pool.start(createTestRequest(), never))).kind, 'timeout');
    assert.equal(starts.length, 3);
  });

  it('fails with the failure of the answer when no other member accepts the request', async () => {
    const { pool } = createTestPool([createFailure('timeout', 'iteration'), createFailure('timeout', 'iteration')]);
    assert.equal((await getRejection(readEvents(await pool.start(createTestRequest(), never)))).kind, 'timeout');
  });

  it('refuses with overloaded while all breakers are open, with the time of the first half-open attempt', async () => {
    const { pool, starts, clock, log, outcomes } = createTestPool([
      createFailure('upstream-failed'),
      createFailure('upstream-failed'),
    ]);
    for (let time = 0; time < 3; time++) await getRejection(pool.start(createTestRequest(), never));
    assert.equal(pool.state, 'failing');
    assert.equal(starts.length, 6);
    const refusal = await getRejection(pool.start(createTestRequest(), never));
    assert.equal(refusal.kind, 'overloaded');
    assert.equal(refusal.retryAfterSeconds, 1);
    assert.ok(refusal.cause instanceof ServiceError);
    assert.equal(refusal.cause.kind, 'upstream-failed');
    assert.equal(starts.length, 6);
    const summaries = log.lines.map(
      ({ fields }) => `${String(fields['address'])} ${String(fields['kind'])} ${String(fields['why'])}`,
    );
    assert.deepEqual(
      new Set(summaries),
      new Set([0, 1].map((at) => `host-${at}:80${at} upstream-failed why it failed`)),
    );
    assert.equal(summaries.length, 2);
    clock.advance(1_000);
    assert.equal(pool.state, 'starting');
    outcomes.fill(ANSWER);
    await readEvents(await pool.start(createTestRequest(), never));
    assert.equal(pool.state, 'ready');
    assert.equal(log.lines.length, 3);
    assert.ok(log.lines.every(({ fields }) => !JSON.stringify(fields).includes('secret')));
  });

  it('lets requests through to a single failing address at a limited rate', async () => {
    const { pool, starts, clock, outcomes } = createTestPool([createFailure('upstream-failed')]);
    for (let time = 0; time < 3; time++) await getRejection(pool.start(createTestRequest(), never));
    assert.equal((await getRejection(pool.start(createTestRequest(), never))).kind, 'overloaded');
    let refused = 0;
    for (let time = 0; time < 100; time++) {
      clock.advance(POOL_LAST_RESORT_INTERVAL_MS / 5);
      const { kind, retryAfterSeconds } = await getRejection(pool.start(createTestRequest(), never));
      if (kind !== 'overloaded') continue;
      refused++;
      assert.equal(retryAfterSeconds, 1);
    }
    assert.equal(refused, 80);
    assert.equal(starts.length, 23);
    assert.ok((pool.describe()[0]?.waitMs ?? 0) <= POOL_SINGLE_BACKOFF_MS_MAX);
    outcomes.fill(ANSWER);
    clock.advance(POOL_LAST_RESORT_INTERVAL_MS);
    await readEvents(await pool.start(createTestRequest(), never));
    assert.equal(pool.state, 'ready');
  });

  it('lets other requests through to a single address while one half-open attempt hangs', async () => {
    const { pool, clock, outcomes, answer } = createTestPool([createFailure('timeout')]);
    for (let time = 0; time < 3; time++) await getRejection(pool.start(createTestRequest(), never));
    outcomes.fill({ type: 'hang', at: 'iteration' });
    clock.advance(1_000);
    const caller = new AbortController();
    const hanging = await pool.start(createTestRequest(), caller.signal);
    outcomes.fill(ANSWER);
    clock.advance(POOL_LAST_RESORT_INTERVAL_MS);
    await answer();
    assert.equal(pool.state, 'ready');
    caller.abort();
    await getRejection(readEvents(hanging));
  });

  it('tries at most one other address after an ambiguous failure', async () => {
    const odd: FakeOutcome = { type: 'fail', at: 'start', kind: 'upstream-failed', isAmbiguous: true };
    const { pool, starts, outcomes, answer } = createTestPool([odd, odd, odd]);
    for (let time = 1; time <= 20; time++) {
      await getRejection(pool.start(createTestRequest(`${time}`, 'r', 'attacker'), never));
      assert.equal(starts.length, 2 * time);
    }
    assert.equal(pool.state, 'ready');
    outcomes.fill(ANSWER);
    for (let time = 0; time < 20; time++) await answer(createTestRequest(`${time}`, 'r', 'innocent'));
  });

  it('keeps a caller away for a while from an address where only its own requests fail', async () => {
    const odd: FakeOutcome = { type: 'fail', at: 'start', kind: 'upstream-failed', isAmbiguous: true };
    const { pool, starts, clock, answer } = createTestPool([odd, ANSWER]);
    for (let time = 0; time < 30; time++) await answer(createTestRequest(`${time}`));
    assert.equal(starts.filter((at) => at === 0).length, POOL_CALLER_FAILURES_MAX);
    assert.deepEqual(new Set(pool.describe().map(({ state }) => state)), new Set(['suspect', 'ready']));
    clock.advance(POOL_CALLER_AVOID_MS);
    for (let time = 0; time < 30; time++) await answer(createTestRequest(`${time}`));
    assert.equal(starts.filter((at) => at === 0).length, POOL_CALLER_FAILURES_MAX + 1);
  });

  it('uses a busy address only after its pause, without counting a failure', async () => {
    const { pool, starts, clock, outcomes, log } = createTestPool([
      { type: 'fail', at: 'start', kind: 'overloaded', retryAfterSeconds: 7 },
    ]);
    assert.equal((await getRejection(pool.start(createTestRequest(), never))).retryAfterSeconds, 7);
    assert.equal(pool.state, 'ready');
    assert.deepEqual(pool.describe(), [{ address: 'host-0:800', state: 'busy', outstanding: 0, waitMs: 7_000 }]);
    clock.advance(2_000);
    assert.equal((await getRejection(pool.start(createTestRequest(), never))).retryAfterSeconds, 5);
    assert.equal(starts.length, 1);
    outcomes.fill(ANSWER);
    clock.advance(5_000);
    await readEvents(await pool.start(createTestRequest(), never));
    assert.deepEqual(log.lines, []);
  });

  it('makes one half-open attempt at a time, with a request first only if there is no probe', async () => {
    const { pool, starts, clock, outcomes, answer } = createTestPool([createFailure('timeout'), ANSWER]);
    while (pool.describe()[0]?.state !== 'down') await answer(createTestRequest(`${starts.length}`));
    clock.advance(1_000);
    outcomes[0] = { type: 'hang', at: 'iteration' };
    starts.length = 0;
    const caller = new AbortController();
    const hung = getRejection(pool.start(createTestRequest(), caller.signal).then(readEvents));
    assert.equal(pool.describe()[0]?.state, 'trial');
    for (let other = 0; other < 5; other++) await answer(createTestRequest(`${other}`));
    assert.deepEqual(starts, [0, 1, 1, 1, 1, 1]);
    caller.abort();
    assert.equal((await hung).kind, 'cancelled');
    outcomes[0] = ANSWER;
    await answer();
    assert.equal(pool.describe()[0]?.state, 'ready');
  });

  for (const at of ['start', 'iteration', 'mid-answer'] as const) {
    it(`passes on the abort of the caller at once, without counting a failure: ${at}`, async () => {
      const { pool, starts, busy } = createTestPool([
        { type: 'hang', at },
        { type: 'hang', at },
      ]);
      for (let time = 1; time <= 4; time++) {
        const caller = new AbortController();
        const reading = getRejection(pool.start(createTestRequest(), caller.signal).then(readEvents));
        await new Promise((turn) => setImmediate(turn));
        assert.equal(busy(), 1);
        caller.abort();
        assert.equal(busy(), 0);
        assert.equal((await reading).kind, 'cancelled');
        assert.equal(starts.length, time);
      }
      assert.ok(pool.describe().every(({ state }) => state === 'ready'));
    });
  }

  it('rejects with the abort reason, and calls nobody for an aborted signal', async () => {
    const { pool, starts } = createTestPool([ANSWER]);
    const late = new ServiceError('timeout', 'Too late.');
    assert.equal(await getRejection(pool.start(createTestRequest(), AbortSignal.abort(late))), late);
    assert.deepEqual(starts, []);
  });

  it('aborts the running attempt when the reader leaves between two attempts', async () => {
    const { pool, busy, outcomes } = createTestPool([
      createFailure('timeout', 'iteration'),
      createFailure('timeout', 'iteration'),
    ]);
    const started = await pool.start(createTestRequest(), never);
    outcomes.fill({ type: 'hang', at: 'start' });
    const iterator = started.batches[Symbol.asyncIterator]();
    const reading = getRejection(Promise.resolve(iterator.next()));
    await new Promise((turn) => setImmediate(turn));
    assert.equal(busy(), 1);
    await iterator.return?.();
    assert.equal((await reading).kind, 'cancelled');
    assert.equal(busy(), 0);
  });

  it('releases the work when the reader leaves early, before and after the first event', async () => {
    const { pool, busy } = createTestPool([ANSWER]);
    const unread = await pool.start(createTestRequest(), never);
    assert.equal(busy(), 1);
    await unread.batches[Symbol.asyncIterator]().return?.();
    assert.equal(busy(), 0);
    const started = await pool.start(createTestRequest(), never);
    for await (const _ of started.batches) break;
    assert.equal(busy(), 0);
  });

  it('abandons an answer that nobody reads', async () => {
    const { pool, busy } = createTestPool([ANSWER]);
    await pool.start(createTestRequest(), never);
    mock.timers.tick(POOL_UNREAD_MS_MAX - 1);
    assert.equal(busy(), 1);
    mock.timers.tick(1);
    assert.equal(busy(), 0);
    const caller = new AbortController();
    await pool.start(createTestRequest(), caller.signal);
    caller.abort();
    assert.equal(busy(), 0);
  });

  it('retries only at members that agree with the reported start', async () => {
    const startInfo = { promptTokens: 5, cachedTokens: 4, maxTokens: 10 };
    const createAnswer = (more: Partial<typeof startInfo>): FakeOutcome => ({
      type: 'answer',
      startInfo: { ...startInfo, ...more },
    });
    const breaks: Partial<TextEngine> = {
      start: async () => ({
        ...startInfo,
        // oxlint-disable-next-line require-yield -- it fails before its first event
        batches: (async function* () {
          throw new ServiceError('timeout', 'Too late.');
        })(),
      }),
    };
    const plays = [
      ANSWER,
      createAnswer({ maxTokens: 9 }),
      createAnswer({ promptTokens: 6 }),
      createAnswer({ cachedTokens: 0 }),
    ];
    const { pool, starts, busy, clock } = createTestPool(plays, [breaks], { attemptsMax: 4 });
    let broken = 0;
    for (let turn = 0; turn < 40; turn++) {
      starts.length = 0;
      const started = await pool.start(createTestRequest(`${turn}`), never);
      const isFirst = starts.length === 0;
      assert.deepEqual(await readEvents(started), [TEXT, TEXT, END]);
      if (!isFirst) continue;
      broken++;
      assert.deepEqual({ ...started, batches: undefined }, { ...startInfo, batches: undefined });
      assert.equal(starts.at(-1), 3);
      // Longer than any backoff.
      clock.advance(100_000);
    }
    assert.ok(broken > 3);
    assert.equal(busy(), 0);
  });

  it('keeps a conversation at its member, unless that is clearly busier than others', async () => {
    const { pool, starts } = createTestPool([ANSWER, ANSWER, ANSWER]);
    const openRuns: EngineRun[] = [];
    for (let turn = 0; turn < 30; turn++) openRuns.push(await pool.start(createTestRequest('same'), never));
    const [home] = starts;
    assert.deepEqual(
      starts.slice(0, 5),
      Array.from({ length: 5 }, () => home),
    );
    const busy = pool.describe().map(({ outstanding }) => outstanding);
    assert.ok(Math.max(...busy) - Math.min(...busy) <= 5, busy.join(' '));
    for (const started of openRuns) await readEvents(started);
    starts.length = 0;
    await readEvents(await pool.start(createTestRequest('same'), never));
    assert.deepEqual(starts, [home]);
  });

  it('routes token counts, embeddings and ranking like answers', async () => {
    const down = async (): Promise<never> => {
      throw new ServiceError('upstream-failed', 'It is down.');
    };
    const dead: Partial<TextEngine> = {
      countTokens: down,
      tokenize: down,
      embeddings: { getDimensions: down, embed: down },
      ranking: { rank: down },
    };
    const live: Partial<TextEngine> = {
      embeddings: { getDimensions: async () => 3, embed: async () => ({ vectors: [[1, 2, 3]], tokens: 1 }) },
      ranking: { rank: async () => ({ scores: [1], tokens: 1 }) },
    };
    const { pool, busy } = createTestPool([ANSWER, ANSWER], [dead, live]);
    const { input } = createTestRequest();
    const text = { text: 'Hi', field: 'input' };
    const head = { id: 'r', owner: { workspace: 'w', key: 'k' } };
    assert.equal(await pool.countTokens(input), 1);
    assert.deepEqual(await pool.tokenize(input), [{ id: 1, text: 'Hi' }]);
    assert.equal(await pool.embeddings?.getDimensions(), 3);
    assert.equal((await pool.embeddings?.embed({ ...head, inputs: [text] }, never))?.tokens, 1);
    assert.deepEqual((await pool.ranking?.rank({ ...head, query: text, documents: [text] }, never))?.scores, [1]);
    assert.equal(busy(), 0);
  });

  it('tries the next member if one cannot count tokens, and fails with unsupported if none can', async () => {
    const mute: Partial<TextEngine> = {
      countTokens: () => Promise.reject(new ServiceError('unsupported', 'It does not count.')),
    };
    for (let turn = 0; turn < 5; turn++) {
      assert.equal(await createTestPool([ANSWER, ANSWER], [mute]).pool.countTokens(createTestRequest().input), 1);
      const { pool } = createTestPool([ANSWER, ANSWER], [mute, mute]);
      assert.equal((await getRejection(pool.countTokens(createTestRequest().input))).kind, 'unsupported');
      assert.ok(pool.describe().every(({ state }) => state === 'ready'));
    }
  });

  it('has embeddings and ranking only if all members have them', () => {
    const { pool } = createTestPool([ANSWER, ANSWER], [{ ranking: { rank: async () => ({ scores: [], tokens: 0 }) } }]);
    assert.equal(pool.embeddings, undefined);
    assert.equal(pool.ranking, undefined);
  });

  it('closes all members, even if one fails to close', async () => {
    const closed: number[] = [];
    const { pool } = createTestPool(
      [ANSWER, ANSWER],
      [
        { close: () => Promise.reject(new Error('stuck')) },
        {
          close: async () => {
            closed.push(1);
          },
        },
      ],
    );
    await assert.rejects(pool.close(), /stuck/);
    assert.deepEqual(closed, [1]);
  });

  it('refuses to be created without members, or with members of two input types', () => {
    assert.throws(() => createTestPool([]), /all with the same input/);
    const { capabilities } = createFakeEngine({ outcome: () => ANSWER });
    assert.throws(
      () => createTestPool([ANSWER, ANSWER], [{ capabilities: { ...capabilities, input: 'prompt' } }]),
      /same input/,
    );
  });
});

describe('model of a pool', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const reportModel = (model: Partial<LoadedModel>): Partial<TextEngine> => ({
    loadModel: async () => ({ ...MODEL, ...model }),
  });
  const fallsSilent: Partial<TextEngine> = { loadModel: () => new Promise(() => undefined) };
  const breaks: Partial<TextEngine> = {
    loadModel: () => Promise.reject(new ServiceError('upstream-failed', 'It is down.')),
  };

  it('merges the models of the members with the smallest context, and keeps the object', async () => {
    const { pool, log } = createTestPool(
      [ANSWER, ANSWER, ANSWER],
      [reportModel({}), breaks, reportModel({ contextTokens: 2048 })],
    );
    const model = await pool.loadModel();
    assert.equal(model.contextTokens, 2048);
    assert.equal(await pool.loadModel(), model);
    assert.deepEqual(
      log.lines.map(({ fields }) => fields),
      [{ address: 'host-2:802', fields: 'contextTokens' }],
    );
  });

  it('waits for a silent member only for a while, and queries a failed one again later', async () => {
    let isDown = true;
    const comesBack: Partial<TextEngine> = {
      loadModel: async () => {
        if (isDown) throw new ServiceError('timeout', 'Too late.');
        return { ...MODEL, contextTokens: 1024 };
      },
    };
    const { pool, clock, busy } = createTestPool([ANSWER, ANSWER, ANSWER], [reportModel({}), fallsSilent, comesBack]);
    const modelPromise = pool.loadModel();
    await new Promise((turn) => setImmediate(turn));
    mock.timers.tick(POOL_MODEL_WAIT_MS);
    assert.equal((await modelPromise).contextTokens, 4096);
    isDown = false;
    assert.equal((await pool.loadModel()).contextTokens, 4096);
    clock.advance(POOL_MODEL_RETRY_MS);
    await pool.loadModel();
    await new Promise((turn) => setImmediate(turn));
    assert.equal((await pool.loadModel()).contextTokens, 1024);
    assert.ok(busy() > 0, 'the query of the silent member is still running');
  });

  it('keeps abilities that a member has not reported', async () => {
    const { capabilities } = createFakeEngine({ outcome: () => ANSWER });
    const discovered: Partial<TextEngine> = {
      ...reportModel({}),
      capabilities: { ...capabilities, thinking: 'switch' },
    };
    const { pool } = createTestPool([ANSWER, ANSWER], [discovered, breaks]);
    assert.equal(pool.capabilities.thinking, undefined);
    await pool.loadModel();
    assert.equal(pool.capabilities.thinking, 'switch');
  });

  it('restricts nothing for a member with a declared model, and does not trust it for that', async () => {
    const { capabilities } = createFakeEngine({ outcome: () => ANSWER });
    const why = new ServiceError('upstream-failed', 'It is down.', { cause: new Error('nobody there') });
    const declares = reportModel({ contextTokens: 1024, unverified: { reason: why } });
    const discovered: Partial<TextEngine> = {
      ...reportModel({}),
      capabilities: { ...capabilities, forwardableFields: ['grammar'] },
    };
    const { pool, log, clock } = createTestPool([createFailure('timeout'), ANSWER], [declares, discovered]);
    for (let turn = 0; pool.describe()[0]?.state !== 'down'; turn++)
      await readEvents(await pool.start(createTestRequest(`${turn}`), never));
    clock.advance(2_000);
    assert.equal((await pool.loadModel()).contextTokens, 4096);
    assert.deepEqual(pool.capabilities.forwardableFields, ['grammar']);
    assert.equal(pool.describe()[0]?.state, 'down');
    assert.deepEqual(log.lines.map(({ message, fields }) => [message, fields['address'], fields['why']]).slice(1), [
      ['upstream address does not report its model', 'host-0:800', 'nobody there'],
    ]);
  });

  it('is the declared model until a member reports one', async () => {
    const why = new ServiceError('timeout', 'Too late.');
    let reportedModel: LoadedModel = { ...MODEL, contextTokens: 1024, unverified: { reason: why } };
    const { pool, clock, log } = createTestPool(
      [ANSWER, ANSWER],
      [{ loadModel: async () => reportedModel }, { loadModel: async () => reportedModel }],
    );
    const declared = await pool.loadModel();
    assert.equal(declared.contextTokens, 1024);
    assert.equal(await pool.loadModel(), declared);
    reportedModel = MODEL;
    assert.equal(await pool.loadModel(), declared);
    clock.advance(POOL_MODEL_UNKNOWN_RETRY_MS);
    assert.equal(await pool.loadModel(), declared, 'callers do not wait');
    await new Promise((turn) => setImmediate(turn));
    assert.equal(await pool.loadModel(), MODEL);
    assert.equal(log.lines.length, 2);
  });

  it('rejects with the last failure if no member reports, and queries again with the next call', async () => {
    const { pool } = createTestPool([ANSWER, ANSWER], [breaks, breaks]);
    for (let time = 0; time < 3; time++) assert.equal((await getRejection(pool.loadModel())).kind, 'upstream-failed');
    assert.equal((await getRejection(pool.loadModel())).kind, 'overloaded');
  });
});
