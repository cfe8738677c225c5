import assert from 'node:assert/strict';
import { afterEach, beforeEach, describe, it, mock } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { ErrorKind } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import { POOL_MODEL_AGAIN_MS, POOL_MODEL_WAIT_MS, POOL_UNREAD_MS_MAX } from '../../core/limits.ts';
import type { EngineRequest, EngineStart, LoadedModel, TextEngine } from '../engine.ts';
import { ANSWER, ask, createFakeEngine, END, MODEL, TEXT } from './__fixtures__/fake-engine.ts';
import type { Outcome } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createStillClock } from './__fixtures__/still-clock.ts';
import { createPool } from './pool.ts';
import type { PoolOptions } from './pool.ts';

const never = new AbortController().signal;
const fails = (kind: ErrorKind, at: 'start' | 'iteration' | 'mid-answer' = 'start'): Outcome => ({
  type: 'fail',
  at,
  kind,
});

async function read({ batches }: EngineStart, into: EngineEvent[] = []): Promise<EngineEvent[]> {
  for await (const batch of batches) into.push(...batch);
  return into;
}

async function rejectionOf(call: Promise<unknown>): Promise<ServiceError> {
  const error: unknown = await call.then(
    () => assert.fail('did not reject'),
    (thrown: unknown) => thrown,
  );
  assert.ok(error instanceof ServiceError, String(error));
  return error;
}

/** A pool of engines that do what `plays` says now, each by its place. */
function room(plays: readonly Outcome[], parts: readonly Partial<TextEngine>[] = [], options: PoolOptions = {}) {
  const outcomes = [...plays];
  const starts: number[] = [];
  const clock = createStillClock();
  const log = createRecordedLog();
  const members = plays.map((_, at) => ({
    address: `http://user:secret@host-${at}:80${at}/v1?key=secret`,
    engine: createFakeEngine(
      { outcome: () => outcomes[at] ?? ANSWER, onStart: () => void starts.push(at) },
      parts[at] ?? {},
    ),
  }));
  const pool = createPool({ members, log, clock, random: () => 0, options });
  const busy = (): number => pool.describe().reduce((sum, { outstanding }) => sum + outstanding, 0);
  const answer = async (request: EngineRequest = ask()): Promise<EngineEvent[]> =>
    read(await pool.start(request, never));
  return { pool, outcomes, starts, clock, log, busy, answer };
}

describe('a pool of addresses', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const before = [
    { name: 'a start that fails', play: fails('upstream-failed') },
    { name: 'a start that takes too long', play: fails('timeout') },
    { name: 'an engine that fails', play: fails('engine-failed') },
    { name: 'a busy address', play: fails('overloaded') },
    { name: 'an answer that breaks before its first event', play: fails('upstream-failed', 'iteration') },
    { name: 'an answer that ends without an event', play: { type: 'vanish' } },
  ] satisfies readonly { name: string; play: Outcome }[];
  for (const { name, play } of before) {
    it(`answers from another address after ${name}`, async () => {
      const { starts, answer, busy, pool } = room([play, play, ANSWER]);
      assert.deepEqual(await answer(), [TEXT, TEXT, END]);
      assert.equal(starts.at(-1), 2);
      assert.equal(new Set(starts).size, starts.length);
      assert.equal(busy(), 0);
      await pool.close();
    });
  }

  it('passes a failure after the first event on, and asks nobody else', async () => {
    const play = fails('upstream-failed', 'mid-answer');
    const { starts, pool, busy } = room([play, play, play]);
    const events: EngineEvent[] = [];
    const started = await pool.start(ask(), never);
    assert.equal((await rejectionOf(read(started, events))).kind, 'upstream-failed');
    assert.deepEqual(events, [TEXT]);
    assert.equal(starts.length, 1);
    assert.equal(busy(), 0);
  });

  for (const kind of ['invalid-request', 'unsupported', 'too-large', 'rate-limited', 'internal'] as const) {
    it(`passes ${kind} on at once, and holds it against nobody`, async () => {
      const { starts, pool } = room([fails(kind), fails(kind)]);
      for (let time = 1; time <= 5; time++) {
        assert.equal((await rejectionOf(pool.start(ask(), never))).kind, kind);
        assert.equal(starts.length, time);
      }
      assert.deepEqual(
        pool.describe().map(({ state }) => state),
        ['ready', 'ready'],
      );
    });
  }

  it('tells the last failure where all fail, and asks no more than the limit', async () => {
    const { starts, pool } = room([fails('timeout'), fails('timeout'), fails('timeout'), fails('timeout')]);
    assert.equal((await rejectionOf(pool.start(ask(), never))).kind, 'timeout');
    assert.equal(starts.length, 3);
  });

  it('tells the failure of the answer where nobody else takes the request', async () => {
    const { pool } = room([fails('timeout', 'iteration'), fails('timeout', 'iteration')]);
    assert.equal((await rejectionOf(read(await pool.start(ask(), never)))).kind, 'timeout');
  });

  it('refuses as overloaded while all are left alone, with the time of the first trial', async () => {
    const { pool, starts, clock, log, outcomes } = room([fails('upstream-failed'), fails('upstream-failed')]);
    for (let time = 0; time < 3; time++) await rejectionOf(pool.start(ask(), never));
    assert.equal(pool.state, 'failing');
    assert.equal(starts.length, 6);
    const refusal = await rejectionOf(pool.start(ask(), never));
    assert.equal(refusal.kind, 'overloaded');
    assert.equal(refusal.retryAfterSeconds, 1);
    assert.ok(refusal.cause instanceof ServiceError);
    assert.equal(refusal.cause.kind, 'upstream-failed');
    assert.equal(starts.length, 6);
    const said = log.lines.map(
      ({ facts }) => `${String(facts['address'])} ${String(facts['kind'])} ${String(facts['why'])}`,
    );
    assert.deepEqual(new Set(said), new Set([0, 1].map((at) => `host-${at}:80${at} upstream-failed why it failed`)));
    assert.equal(said.length, 2);
    clock.move(1_000);
    assert.equal(pool.state, 'starting');
    outcomes.fill(ANSWER);
    await read(await pool.start(ask(), never));
    assert.equal(pool.state, 'ready');
    assert.equal(log.lines.length, 3);
    assert.ok(log.lines.every(({ facts }) => !JSON.stringify(facts).includes('secret')));
  });

  it('leaves a busy address alone for as long as it says, which is no failure', async () => {
    const { pool, starts, clock, outcomes, log } = room([
      { type: 'fail', at: 'start', kind: 'overloaded', retryAfterSeconds: 7 },
    ]);
    assert.equal((await rejectionOf(pool.start(ask(), never))).retryAfterSeconds, 7);
    assert.equal(pool.state, 'ready');
    assert.deepEqual(pool.describe(), [{ address: 'host-0:800', state: 'busy', outstanding: 0, waitMs: 7_000 }]);
    clock.move(2_000);
    assert.equal((await rejectionOf(pool.start(ask(), never))).retryAfterSeconds, 5);
    assert.equal(starts.length, 1);
    outcomes.fill(ANSWER);
    clock.move(5_000);
    await read(await pool.start(ask(), never));
    assert.deepEqual(log.lines, []);
  });

  it('puts one request to a trial at a time, first where no probe can do it', async () => {
    const { pool, starts, clock, outcomes, answer } = room([fails('timeout'), ANSWER]);
    while (pool.describe()[0]?.state !== 'down') await answer(ask(`${starts.length}`));
    clock.move(1_000);
    outcomes[0] = { type: 'hang', at: 'iteration' };
    starts.length = 0;
    const caller = new AbortController();
    const hung = rejectionOf(pool.start(ask(), caller.signal).then(read));
    assert.equal(pool.describe()[0]?.state, 'trial');
    for (let other = 0; other < 5; other++) await answer(ask(`${other}`));
    assert.deepEqual(starts, [0, 1, 1, 1, 1, 1]);
    caller.abort();
    assert.equal((await hung).kind, 'cancelled');
    outcomes[0] = ANSWER;
    await answer();
    assert.equal(pool.describe()[0]?.state, 'ready');
  });

  for (const at of ['start', 'iteration', 'mid-answer'] as const) {
    it(`passes its caller's going on at once, and holds it against nobody: ${at}`, async () => {
      const { pool, starts, busy } = room([
        { type: 'hang', at },
        { type: 'hang', at },
      ]);
      for (let time = 1; time <= 4; time++) {
        const caller = new AbortController();
        const reading = rejectionOf(pool.start(ask(), caller.signal).then(read));
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

  it('tells the reason of its caller, and asks nobody for one who has gone already', async () => {
    const { pool, starts } = room([ANSWER]);
    const late = new ServiceError('timeout', 'Too late.');
    assert.equal(await rejectionOf(pool.start(ask(), AbortSignal.abort(late))), late);
    assert.deepEqual(starts, []);
  });

  it('ends the attempt that runs when its reader leaves between two', async () => {
    const { pool, busy, outcomes } = room([fails('timeout', 'iteration'), fails('timeout', 'iteration')]);
    const started = await pool.start(ask(), never);
    outcomes.fill({ type: 'hang', at: 'start' });
    const iterator = started.batches[Symbol.asyncIterator]();
    const reading = rejectionOf(Promise.resolve(iterator.next()));
    await new Promise((turn) => setImmediate(turn));
    assert.equal(busy(), 1);
    await iterator.return?.();
    assert.equal((await reading).kind, 'cancelled');
    assert.equal(busy(), 0);
  });

  it('gives the place back when its reader leaves early, before and after the first event', async () => {
    const { pool, busy } = room([ANSWER]);
    const unread = await pool.start(ask(), never);
    assert.equal(busy(), 1);
    await unread.batches[Symbol.asyncIterator]().return?.();
    assert.equal(busy(), 0);
    const started = await pool.start(ask(), never);
    for await (const _ of started.batches) break;
    assert.equal(busy(), 0);
  });

  it('gives up an answer that nobody reads', async () => {
    const { pool, busy } = room([ANSWER]);
    await pool.start(ask(), never);
    mock.timers.tick(POOL_UNREAD_MS_MAX - 1);
    assert.equal(busy(), 1);
    mock.timers.tick(1);
    assert.equal(busy(), 0);
    const caller = new AbortController();
    await pool.start(ask(), caller.signal);
    caller.abort();
    assert.equal(busy(), 0);
  });

  it('does not contradict what it has told', async () => {
    const told = { promptTokens: 5, cachedTokens: 4, maxTokens: 10 };
    const tell = (more: Partial<typeof told>): Outcome => ({ type: 'answer', told: { ...told, ...more } });
    const breaks: Partial<TextEngine> = {
      start: async () => ({
        ...told,
        // oxlint-disable-next-line require-yield -- it fails before it has something to say
        batches: (async function* () {
          throw new ServiceError('timeout', 'Too late.');
        })(),
      }),
    };
    const plays = [ANSWER, tell({ maxTokens: 9 }), tell({ promptTokens: 6 }), tell({ cachedTokens: 0 })];
    const { pool, starts, busy, clock } = room(plays, [breaks], { attemptsMax: 4 });
    let broken = 0;
    for (let turn = 0; turn < 40; turn++) {
      starts.length = 0;
      const started = await pool.start(ask(`${turn}`), never);
      const isFirst = starts.length === 0;
      assert.deepEqual(await read(started), [TEXT, TEXT, END]);
      if (!isFirst) continue;
      broken++;
      assert.deepEqual({ ...started, batches: undefined }, { ...told, batches: undefined });
      assert.equal(starts.at(-1), 3);
      // Long enough for any backoff.
      clock.move(100_000);
    }
    assert.ok(broken > 3);
    assert.equal(busy(), 0);
  });

  it('keeps a conversation where it was, while that one is not clearly busier', async () => {
    const { pool, starts } = room([ANSWER, ANSWER, ANSWER]);
    const held: EngineStart[] = [];
    for (let turn = 0; turn < 30; turn++) held.push(await pool.start(ask('same'), never));
    const [home] = starts;
    assert.deepEqual(
      starts.slice(0, 5),
      Array.from({ length: 5 }, () => home),
    );
    const busy = pool.describe().map(({ outstanding }) => outstanding);
    assert.ok(Math.max(...busy) - Math.min(...busy) <= 5, busy.join(' '));
    for (const started of held) await read(started);
    starts.length = 0;
    await read(await pool.start(ask('same'), never));
    assert.deepEqual(starts, [home]);
  });

  it('asks the members for tokens, vectors and scores as for answers', async () => {
    const down = async (): Promise<never> => {
      throw new ServiceError('upstream-failed', 'It is down.');
    };
    const dead: Partial<TextEngine> = {
      countTokens: down,
      tokenize: down,
      embeddings: { dimensions: down, embed: down },
      ranking: { rank: down },
    };
    const live: Partial<TextEngine> = {
      embeddings: { dimensions: async () => 3, embed: async () => ({ vectors: [[1, 2, 3]], tokens: 1 }) },
      ranking: { rank: async () => ({ scores: [1], tokens: 1 }) },
    };
    const { pool, busy } = room([ANSWER, ANSWER], [dead, live]);
    const { input } = ask();
    const text = { text: 'Hi', field: 'input' };
    const head = { id: 'r', owner: { workspace: 'w', key: 'k' } };
    assert.equal(await pool.countTokens(input), 1);
    assert.deepEqual(await pool.tokenize(input), [{ id: 1, text: 'Hi' }]);
    assert.equal(await pool.embeddings?.dimensions(), 3);
    assert.equal((await pool.embeddings?.embed({ ...head, inputs: [text] }, never))?.tokens, 1);
    assert.deepEqual((await pool.ranking?.rank({ ...head, query: text, documents: [text] }, never))?.scores, [1]);
    assert.equal(busy(), 0);
  });

  it('asks on where a member does not count tokens, and says so where none does', async () => {
    const mute: Partial<TextEngine> = {
      countTokens: () => Promise.reject(new ServiceError('unsupported', 'It does not count.')),
    };
    for (let turn = 0; turn < 5; turn++) {
      assert.equal(await room([ANSWER, ANSWER], [mute]).pool.countTokens(ask().input), 1);
      const { pool } = room([ANSWER, ANSWER], [mute, mute]);
      assert.equal((await rejectionOf(pool.countTokens(ask().input))).kind, 'unsupported');
      assert.ok(pool.describe().every(({ state }) => state === 'ready'));
    }
  });

  it('makes vectors and scores only where all members do', () => {
    const { pool } = room([ANSWER, ANSWER], [{ ranking: { rank: async () => ({ scores: [], tokens: 0 }) } }]);
    assert.equal(pool.embeddings, undefined);
    assert.equal(pool.ranking, undefined);
  });

  it('closes all members, also where one cannot be closed', async () => {
    const closed: number[] = [];
    const { pool } = room(
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

  it('refuses to be made of nothing, or of engines of two kinds', () => {
    assert.throws(() => room([]), /all of the same input/);
    const { capabilities } = createFakeEngine({ outcome: () => ANSWER });
    assert.throws(() => room([ANSWER, ANSWER], [{ capabilities: { ...capabilities, input: 'prompt' } }]), /same input/);
  });
});

describe('the model of a pool', () => {
  beforeEach(() => mock.timers.enable({ apis: ['setTimeout'] }));
  afterEach(() => mock.timers.reset());

  const tells = (model: Partial<LoadedModel>): Partial<TextEngine> => ({ model: async () => ({ ...MODEL, ...model }) });
  const fallsSilent: Partial<TextEngine> = { model: () => new Promise(() => undefined) };
  const breaks: Partial<TextEngine> = {
    model: () => Promise.reject(new ServiceError('upstream-failed', 'It is down.')),
  };

  it('is what a member says, with the smallest context, and the same object each time', async () => {
    const { pool, log } = room([ANSWER, ANSWER, ANSWER], [tells({}), breaks, tells({ contextTokens: 2048 })]);
    const model = await pool.model();
    assert.equal(model.contextTokens, 2048);
    assert.equal(await pool.model(), model);
    assert.deepEqual(
      log.lines.map(({ facts }) => facts),
      [{ address: 'host-2:802', fields: 'contextTokens' }],
    );
  });

  it('waits for a silent member only a while, and asks one that failed again later', async () => {
    let isDown = true;
    const comesBack: Partial<TextEngine> = {
      model: async () => {
        if (isDown) throw new ServiceError('timeout', 'Too late.');
        return { ...MODEL, contextTokens: 1024 };
      },
    };
    const { pool, clock, busy } = room([ANSWER, ANSWER, ANSWER], [tells({}), fallsSilent, comesBack]);
    const asked = pool.model();
    await new Promise((turn) => setImmediate(turn));
    mock.timers.tick(POOL_MODEL_WAIT_MS);
    assert.equal((await asked).contextTokens, 4096);
    isDown = false;
    assert.equal((await pool.model()).contextTokens, 4096);
    clock.move(POOL_MODEL_AGAIN_MS);
    await pool.model();
    await new Promise((turn) => setImmediate(turn));
    assert.equal((await pool.model()).contextTokens, 1024);
    assert.ok(busy() > 0, 'the silent one is still asked');
  });

  it('takes no ability away for a member that has not said what it can do', async () => {
    const { capabilities } = createFakeEngine({ outcome: () => ANSWER });
    const discovered: Partial<TextEngine> = { ...tells({}), capabilities: { ...capabilities, thinking: 'switch' } };
    const { pool } = room([ANSWER, ANSWER], [discovered, breaks]);
    assert.equal(pool.capabilities.thinking, undefined);
    await pool.model();
    assert.equal(pool.capabilities.thinking, 'switch');
  });

  it('tells the last failure where nobody knows, and tries again with the next call', async () => {
    const { pool } = room([ANSWER, ANSWER], [breaks, breaks]);
    for (let time = 0; time < 3; time++) assert.equal((await rejectionOf(pool.model())).kind, 'upstream-failed');
    assert.equal((await rejectionOf(pool.model())).kind, 'overloaded');
  });
});
