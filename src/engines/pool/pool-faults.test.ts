import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { systemClock } from '../../lib/clock.ts';
import type { Clock } from '../../lib/clock.ts';
import type { TextEngine } from '../engine.ts';
import { createUpstreamEngine } from '../upstream/upstream-engine.ts';
import { ask } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createStillClock } from './__fixtures__/still-clock.ts';
import {
  answers,
  createFixtureServer,
  diesInMidAnswer,
  drips,
  FAULTS,
  reply,
  WEAK_FAULTS,
  WORDS,
} from './__fixtures__/upstream-servers.ts';
import type { FixtureServer, Play } from './__fixtures__/upstream-servers.ts';
import { createPool } from './pool.ts';
import type { Pool } from './pool.ts';

const KEY = 'sk-upstream-0123456789';
const REQUESTS = 200;
const AT_ONCE = 16;
const never = new AbortController().signal;

interface Answered {
  readonly text: string;
  readonly error?: ServiceError;
}

async function answerOf(engine: TextEngine, text: string): Promise<Answered> {
  let said = '';
  try {
    const { batches } = await engine.start(ask(text, text), never);
    for await (const batch of batches) for (const event of batch) if (event.type === 'text') said += event.text;
    return { text: said };
  } catch (thrown) {
    return { text: said, error: ServiceError.from(thrown) };
  }
}

/** Many requests of different conversations, some at a time. */
async function manyAnswers(engine: TextEngine, count = REQUESTS): Promise<Answered[]> {
  const answered: Answered[] = [];
  let next = 0;
  const one = async (): Promise<void> => {
    while (next < count) answered.push(await answerOf(engine, `question ${next++}`));
  };
  await Promise.all(Array.from({ length: AT_ONCE }, one));
  return answered;
}

const checkAllAnswered = (answered: readonly Answered[]): void => {
  const failures = answered.filter(({ text, error }) => error !== undefined || text !== WORDS);
  assert.deepEqual(failures, []);
};

/** Lets the event loop go round. @throws when it is not so within thirty seconds. */
async function turnsUntil(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, 'not within thirty seconds');
    await new Promise((turn) => setImmediate(turn));
  }
}

describe('a pool of three servers', () => {
  const open: (Pool | FixtureServer)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const each of open.splice(0)) await ('close' in each ? each.close() : each.stop());
  };
  afterEach(closeAll);
  after(closeAll);

  /** Those that are well have all the time that a busy machine may take. */
  async function room({
    ill = [],
    well = [],
    clock = systemClock,
  }: {
    ill?: readonly Play[];
    well?: readonly Play[];
    clock?: Pick<Clock, 'monotonic'>;
  }) {
    const servers = await Promise.all([...ill, ...well].map(createFixtureServer));
    const log = createRecordedLog();
    const pool = createPool({
      members: servers.map(({ url }, at) => ({
        address: url,
        engine: createUpstreamEngine({
          url,
          model: 'their-model',
          apiKey: KEY,
          contextTokens: 4096,
          timeouts: at < ill.length ? { firstTokenMs: 300, idleMs: 300 } : {},
        }),
      })),
      log,
      clock,
      options: { backoffMsMin: 200, healthMs: 50 },
    });
    open.push(pool, ...servers);
    /** A probe may run at any time, and counts as work. */
    const checkIdle = async (): Promise<void> => {
      await turnsUntil(() => pool.describe().every(({ outstanding }) => outstanding === 0));
      assert.ok(!JSON.stringify(log.lines).includes(KEY));
    };
    return { servers, pool, log, checkIdle };
  }

  it('shares the work and keeps conversations together while all are well', async () => {
    const { servers, pool, log, checkIdle } = await room({ well: [answers, answers, answers] });
    checkAllAnswered(await manyAnswers(pool));
    assert.ok(servers.every(({ asked }) => asked > REQUESTS / 10));
    assert.equal(
      servers.reduce((sum, { asked }) => sum + asked, 0),
      REQUESTS,
    );
    const before = servers.map(({ asked }) => asked);
    for (let turn = 0; turn < 10; turn++) await answerOf(pool, 'the same');
    const grown = servers.filter(({ asked }, at) => asked > (before[at] ?? 0));
    assert.equal(grown.length, 1);
    assert.deepEqual(log.lines, []);
    await checkIdle();
  });

  for (const [name, fault] of Object.entries({ ...FAULTS, ...WEAK_FAULTS })) {
    it(`answers everything while one of them ${name}`, async () => {
      const { servers, pool, checkIdle } = await room({ ill: [fault], well: [answers, drips] });
      checkAllAnswered(await manyAnswers(pool));
      // Left alone soon: what it was asked is a few at a time before it was noticed, and trials.
      assert.ok((servers[0]?.asked ?? 0) < REQUESTS / 3, `${servers[0]?.asked}`);
      await checkIdle();
    });
  }

  it('answers everything while two of them fail in turn in all these ways', async () => {
    const plays = Object.values(FAULTS);
    let turn = 0;
    const any: Play = (response, request) => plays[turn++ % plays.length]?.(response, request);
    const { pool, checkIdle } = await room({ ill: [any, any], well: [answers] });
    checkAllAnswered(await manyAnswers(pool));
    await checkIdle();
  });

  it('answers everything when two of three are not there, and takes them for what they are', async () => {
    const { servers, pool, log, checkIdle } = await room({ well: [answers, answers, answers] });
    await Promise.all(servers.slice(1).map((server) => server.stop()));
    checkAllAnswered(await manyAnswers(pool));
    assert.deepEqual(
      pool.describe().map(({ state }) => state === 'down' || state === 'trial'),
      [false, true, true],
    );
    assert.equal(pool.state, 'ready');
    assert.ok(
      log.lines.some(({ facts }) => facts['address'] === servers[1]?.host && facts['kind'] === 'upstream-failed'),
    );
    assert.equal((await pool.model()).contextTokens, 4096);
    await checkIdle();
  });

  it('breaks off only what had begun when a server dies, and asks nobody else for that', async () => {
    const { servers, pool, checkIdle } = await room({ well: [diesInMidAnswer, answers, answers] });
    const answered = await manyAnswers(pool);
    const broken = answered.filter(({ error }) => error !== undefined);
    assert.ok(broken.length > 0 && broken.length < REQUESTS / 4, `${broken.length}`);
    for (const { text, error } of broken) {
      assert.equal(text, 'naïve ');
      assert.equal(error?.kind, 'upstream-failed');
    }
    assert.equal(
      servers.reduce((sum, { asked }) => sum + asked, 0),
      REQUESTS,
    );
    await checkIdle();
  });

  it('goes on when servers die in the middle of the work', async () => {
    const { servers, pool, checkIdle } = await room({ well: [drips, drips, drips] });
    const [first, second] = servers;
    let seen = 0;
    const dies: (server: FixtureServer) => Play = (server) => (response, request) => {
      if (++seen >= 20) void server.stop();
      else drips(response, request);
    };
    assert.ok(first && second);
    first.play = dies(first);
    second.play = dies(second);
    const answered = await manyAnswers(pool);
    // Whoever had read something may hear of it; nobody else does.
    for (const { text, error } of answered) {
      if (error === undefined) assert.equal(text, WORDS);
      else assert.notEqual(text, '', error.message);
    }
    await checkIdle();
  });

  it('loses nothing for others by the odd prompts of one caller', async () => {
    const worker = reply(500, { error: { message: 'worker died' } });
    const { servers, pool, checkIdle } = await room({ well: [answers, answers, answers] });
    for (const server of servers)
      server.play = (response, request) => {
        const isOdd = request.headers['x-request-id']?.toString().startsWith('odd');
        (isOdd ? worker : answers)(response, request);
      };
    for (let turn = 0; turn < 30; turn++) {
      const { error } = await answerOf(pool, `odd ${turn}`);
      assert.equal(error?.kind, 'upstream-failed');
    }
    assert.equal(
      servers.reduce((sum, { asked }) => sum + asked, 0),
      60,
      'each was put to two addresses',
    );
    assert.equal(pool.state, 'ready');
    checkAllAnswered(await manyAnswers(pool, 40));
    await checkIdle();
  });

  it('stays in use when it knows no second choice and one caller asks for it again and again', async () => {
    const { servers, pool } = await room({ well: [answers] });
    for (let turn = 0; turn < 10; turn++) {
      const { batches } = await pool.start({ ...ask(`${turn}`), choices: 2 }, never);
      await assert.rejects(Array.fromAsync(batches), { kind: 'upstream-failed' });
    }
    assert.equal(servers[0]?.asked, 10);
    assert.notEqual(pool.describe()[0]?.state, 'down');
    checkAllAnswered([await answerOf(pool, 'question')]);
  });

  it('tells an honest end where all fail, and refuses at once from then on', async () => {
    const down = reply(502, '<h1>Bad gateway</h1>');
    const { servers, pool } = await room({ well: [down, down, down] });
    const first = await answerOf(pool, 'question');
    assert.equal(first.error?.kind, 'upstream-failed');
    const kinds = new Set((await manyAnswers(pool, 40)).map(({ error }) => error?.kind));
    assert.deepEqual(kinds, new Set(['upstream-failed', 'overloaded']));
    const asked = servers.reduce((sum, server) => sum + server.asked, 0);
    assert.ok(asked < 3 * 40, `${asked}`);
  });

  it('passes on how long to wait where all are busy, and asks none of them meanwhile', async () => {
    const busy = reply(429, { error: { message: 'slow down' } }, { 'retry-after': '30' });
    // A second that goes by between two questions is one less to wait.
    const { servers, pool } = await room({ well: [busy, busy, busy], clock: createStillClock() });
    for (const { error } of await manyAnswers(pool, 20)) {
      assert.equal(error?.kind, 'overloaded');
      assert.equal(error.retryAfterSeconds, 30);
    }
    assert.ok(servers.every(({ asked }) => asked <= AT_ONCE));
    assert.equal(pool.state, 'ready');
  });

  it('hears from its probes that a server is back', async () => {
    const { servers, pool } = await room({ well: [FAULTS['closes the connection'] ?? answers] });
    for (let turn = 0; turn < 3; turn++) await answerOf(pool, 'question');
    assert.notEqual(pool.state, 'ready');
    for (const server of servers) server.play = answers;
    await turnsUntil(() => pool.state === 'ready');
    checkAllAnswered([await answerOf(pool, 'question')]);
  });

  it('ends the call upstream when its caller goes, before and after the first event', async () => {
    const hangs = FAULTS['hangs after its head'] ?? answers;
    const { servers, pool, checkIdle } = await room({ well: [hangs, hangs, hangs] });
    const [server] = servers;
    assert.ok(server);
    const caller = new AbortController();
    const { batches } = await pool.start(ask(), caller.signal);
    const reading = Array.fromAsync(batches);
    caller.abort();
    await assert.rejects(reading, { kind: 'cancelled' });
    await checkIdle();
    assert.ok(pool.describe().every(({ state }) => state === 'ready'));
    const left = (): number => servers.reduce((sum, each) => sum + each.left, 0);
    await turnsUntil(() => left() > 0);
    assert.equal(left(), 1);
  });
});
