import assert from 'node:assert/strict';
import { after, afterEach, describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { TextEngine } from '../engine.ts';
import { createUpstreamEngine } from '../upstream/upstream-engine.ts';
import { createTestRequest } from './__fixtures__/fake-engine.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import {
  respondFully,
  startFakeUpstreamServer,
  breakMidAnswer,
  respondInDrips,
  FAULTS,
  respondWithJson,
  AMBIGUOUS_FAULTS,
  FULL_TEXT,
  type FakeUpstreamServer,
  type FakeResponder,
} from './__fixtures__/fake-upstream-server.ts';
import { createPool, type Pool } from './pool.ts';

const KEY = 'sk-upstream-0123456789';
const REQUESTS = 200;
const CONCURRENCY = 16;
const never = new AbortController().signal;

interface Answered {
  readonly text: string;
  readonly error?: ServiceError;
}

async function getAnswer(engine: TextEngine, text: string): Promise<Answered> {
  let answerText = '';
  try {
    const { batches } = await engine.start(createTestRequest(text, text), never);
    for await (const batch of batches) for (const event of batch) if (event.type === 'text') answerText += event.text;
    return { text: answerText };
  } catch (thrown) {
    return { text: answerText, error: ServiceError.from(thrown) };
  }
}

/** Sends requests of different conversations, several at a time. */
async function getManyAnswers(engine: TextEngine, count = REQUESTS): Promise<Answered[]> {
  const answered: Answered[] = [];
  let next = 0;
  const runWorker = async (): Promise<void> => {
    while (next < count) answered.push(await getAnswer(engine, `question ${next++}`));
  };
  await Promise.all(Array.from({ length: CONCURRENCY }, runWorker));
  return answered;
}

const checkAllAnswered = (answered: readonly Answered[]): void => {
  const failures = answered.filter(({ text, error }) => error !== undefined || text !== FULL_TEXT);
  assert.deepEqual(failures, []);
};

/** Runs the event loop until the condition is true. @throws after thirty seconds. */
async function waitUntil(isSo: () => boolean): Promise<void> {
  const deadline = performance.now() + 30_000;
  while (!isSo()) {
    assert.ok(performance.now() < deadline, 'not within thirty seconds');
    await new Promise((turn) => setImmediate(turn));
  }
}

describe('pool of three servers', () => {
  const open: (Pool | FakeUpstreamServer)[] = [];
  const closeAll = async (): Promise<void> => {
    for (const each of open.splice(0)) await ('close' in each ? each.close() : each.stop());
  };
  afterEach(closeAll);
  after(closeAll);

  /** Working servers get the full default time limits, which a busy machine may need. */
  async function createTestPool({
    ill = [],
    well = [],
    clock = systemClock,
  }: {
    ill?: readonly FakeResponder[];
    well?: readonly FakeResponder[];
    clock?: Pick<Clock, 'monotonic'>;
  }) {
    const servers = await Promise.all([...ill, ...well].map(startFakeUpstreamServer));
    const log = createRecordedLog();
    const pool = createPool({
      endpoints: servers.map(({ url }, at) => ({
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
      options: { backoffMsMin: 200, healthIntervalMs: 50 },
    });
    open.push(pool, ...servers);
    /** Probes may run at any time, and count as work. */
    const checkIdle = async (): Promise<void> => {
      await waitUntil(() => pool.describe().every(({ outstanding }) => outstanding === 0));
      assert.ok(!JSON.stringify(log.lines).includes(KEY));
    };
    return { servers, pool, log, checkIdle };
  }

  it('shares the work and keeps conversations together while all servers work', async () => {
    const { servers, pool, log, checkIdle } = await createTestPool({
      well: [respondFully, respondFully, respondFully],
    });
    checkAllAnswered(await getManyAnswers(pool));
    assert.ok(servers.every(({ requestCount }) => requestCount > REQUESTS / 10));
    assert.equal(
      servers.reduce((sum, { requestCount }) => sum + requestCount, 0),
      REQUESTS,
    );
    const before = servers.map(({ requestCount }) => requestCount);
    for (let turn = 0; turn < 10; turn++) await getAnswer(pool, 'the same');
    const grown = servers.filter(({ requestCount }, at) => requestCount > (before[at] ?? 0));
    assert.equal(grown.length, 1);
    assert.deepEqual(log.lines, []);
    await checkIdle();
  });

  for (const [name, fault] of Object.entries({ ...FAULTS, ...AMBIGUOUS_FAULTS })) {
    it(`answers everything while one server ${name}`, async () => {
      const { servers, pool, checkIdle } = await createTestPool({ ill: [fault], well: [respondFully, respondInDrips] });
      checkAllAnswered(await getManyAnswers(pool));
      // The address gets few requests: those before its failure was noticed, and half-open attempts.
      assert.ok((servers[0]?.requestCount ?? 0) < REQUESTS / 3, `${servers[0]?.requestCount}`);
      await checkIdle();
    });
  }

  it('answers everything while two servers fail in turn in all these ways', async () => {
    const plays = Object.values(FAULTS);
    let turn = 0;
    const any: FakeResponder = (response, request) => plays[turn++ % plays.length]?.(response, request);
    const { pool, checkIdle } = await createTestPool({ ill: [any, any], well: [respondFully] });
    checkAllAnswered(await getManyAnswers(pool));
    await checkIdle();
  });

  it('answers everything while two of three servers are unreachable, and reports them as such', async () => {
    const { servers, pool, log, checkIdle } = await createTestPool({
      well: [respondFully, respondFully, respondFully],
    });
    await Promise.all(servers.slice(1).map((server) => server.stop()));
    checkAllAnswered(await getManyAnswers(pool));
    assert.deepEqual(
      pool.describe().map(({ state }) => state === 'down' || state === 'trial'),
      [false, true, true],
    );
    assert.equal(pool.state, 'ready');
    assert.ok(
      log.lines.some(({ fields }) => fields['address'] === servers[1]?.host && fields['kind'] === 'upstream-failed'),
    );
    assert.equal((await pool.loadModel()).contextTokens, 4096);
    await checkIdle();
  });

  it('fails only started answers when a server dies, and does not retry these', async () => {
    const { servers, pool, checkIdle } = await createTestPool({ well: [breakMidAnswer, respondFully, respondFully] });
    const answered = await getManyAnswers(pool);
    const broken = answered.filter(({ error }) => error !== undefined);
    assert.ok(broken.length > 0 && broken.length < REQUESTS / 4, `${broken.length}`);
    for (const { text, error } of broken) {
      assert.equal(text, 'naïve ');
      assert.equal(error?.kind, 'upstream-failed');
    }
    assert.equal(
      servers.reduce((sum, { requestCount }) => sum + requestCount, 0),
      REQUESTS,
    );
    await checkIdle();
  });

  it('continues when servers die during the work', async () => {
    const { servers, pool, checkIdle } = await createTestPool({
      well: [respondInDrips, respondInDrips, respondInDrips],
    });
    const [first, second] = servers;
    let seen = 0;
    const dies: (server: FakeUpstreamServer) => FakeResponder = (server) => (response, request) => {
      if (++seen >= 20) void server.stop();
      else respondInDrips(response, request);
    };
    assert.ok(first && second);
    first.respond = dies(first);
    second.respond = dies(second);
    const answered = await getManyAnswers(pool);
    // Only callers that had already read an event may see the failure.
    for (const { text, error } of answered) {
      if (error === undefined) assert.equal(text, FULL_TEXT);
      else assert.notEqual(text, '', error.message);
    }
    await checkIdle();
  });

  it('loses nothing of other callers when one caller sends prompts that fail', async () => {
    const worker = respondWithJson(500, { error: { message: 'worker died' } });
    const { servers, pool, checkIdle } = await createTestPool({ well: [respondFully, respondFully, respondFully] });
    for (const server of servers)
      server.respond = (response, request) => {
        const isOdd = request.headers['x-request-id']?.toString().startsWith('odd');
        (isOdd ? worker : respondFully)(response, request);
      };
    for (let turn = 0; turn < 30; turn++) {
      const { error } = await getAnswer(pool, `odd ${turn}`);
      assert.equal(error?.kind, 'upstream-failed');
    }
    assert.equal(
      servers.reduce((sum, { requestCount }) => sum + requestCount, 0),
      60,
      'each was put to two addresses',
    );
    assert.equal(pool.state, 'ready');
    checkAllAnswered(await getManyAnswers(pool, 40));
    await checkIdle();
  });

  it('stays in use with a single server while one caller sends failing prompts repeatedly', async () => {
    const { servers, pool } = await createTestPool({ well: [respondFully] });
    for (let turn = 0; turn < 10; turn++) {
      const { batches } = await pool.start({ ...createTestRequest(`${turn}`), choices: 2 }, never);
      await assert.rejects(Array.fromAsync(batches), { kind: 'upstream-failed' });
    }
    assert.equal(servers[0]?.requestCount, 10);
    assert.notEqual(pool.describe()[0]?.state, 'down');
    checkAllAnswered([await getAnswer(pool, 'question')]);
  });

  it('fails with the error of the last server when all fail, and then refuses at once', async () => {
    const down = respondWithJson(502, '<h1>Bad gateway</h1>');
    const { servers, pool } = await createTestPool({ well: [down, down, down] });
    const first = await getAnswer(pool, 'question');
    assert.equal(first.error?.kind, 'upstream-failed');
    const kinds = new Set((await getManyAnswers(pool, 40)).map(({ error }) => error?.kind));
    assert.deepEqual(kinds, new Set(['upstream-failed', 'overloaded']));
    const requestCount = servers.reduce((sum, server) => sum + server.requestCount, 0);
    assert.ok(requestCount < 3 * 40, `${requestCount}`);
  });

  it('reports the retry time when all servers are busy, and calls none of them meanwhile', async () => {
    const busy = respondWithJson(429, { error: { message: 'slow down' } }, { 'retry-after': '30' });
    // The wait is one second shorter for each second between two requests.
    const { servers, pool } = await createTestPool({ well: [busy, busy, busy], clock: createManualClock() });
    for (const { error } of await getManyAnswers(pool, 20)) {
      assert.equal(error?.kind, 'overloaded');
      assert.equal(error.retryAfterSeconds, 30);
    }
    assert.ok(servers.every(({ requestCount }) => requestCount <= CONCURRENCY));
    assert.equal(pool.state, 'ready');
  });

  it('detects by a probe that a server is back', async () => {
    const { servers, pool } = await createTestPool({ well: [FAULTS['closes the connection'] ?? respondFully] });
    for (let turn = 0; turn < 3; turn++) await getAnswer(pool, 'question');
    assert.notEqual(pool.state, 'ready');
    for (const server of servers) server.respond = respondFully;
    await waitUntil(() => pool.state === 'ready');
    checkAllAnswered([await getAnswer(pool, 'question')]);
  });

  it('aborts the upstream call when its caller leaves, before and after the first event', async () => {
    const hangs = FAULTS['hangs after its head'] ?? respondFully;
    const { servers, pool, checkIdle } = await createTestPool({ well: [hangs, hangs, hangs] });
    const [server] = servers;
    assert.ok(server);
    const caller = new AbortController();
    const { batches } = await pool.start(createTestRequest(), caller.signal);
    const reading = Array.fromAsync(batches);
    caller.abort();
    await assert.rejects(reading, { kind: 'cancelled' });
    await checkIdle();
    assert.ok(pool.describe().every(({ state }) => state === 'ready'));
    const left = (): number => servers.reduce((sum, each) => sum + each.abortedCount, 0);
    await waitUntil(() => left() > 0);
    assert.equal(left(), 1);
  });
});
