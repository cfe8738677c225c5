import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { EngineEvent } from '../../core/event.ts';
import type { EngineRequest, EngineRun } from '../engine.ts';
import { createFakeEngine, createTestRequest, type FakeOutcome } from './__fixtures__/fake-engine.ts';
import { createManualClock } from './__fixtures__/manual-clock.ts';
import { createRecordedLog } from './__fixtures__/recorded-log.ts';
import { createPool } from './pool.ts';

const NEVER = new AbortController().signal;

/** Lets everything that is due run. */
const yieldToEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const createRequest = (workspace: string, choices = 1, sampling: EngineRequest['sampling'] = {}): EngineRequest => ({
  ...createTestRequest('Hi', workspace),
  owner: { workspace, key: 'k' },
  choices,
  sampling,
});

interface StartedCall {
  readonly request: EngineRequest;
  /** Lets the answer end. */
  finish(): void;
  /** Breaks the answer. */
  fail(): void;
}

/** A pool of one server with so many sequences, whose answers end when the test says so. */
function createTestPool(memberSequences: number | undefined) {
  const calls: StartedCall[] = [];
  const running = new Set<EngineRequest>();
  const engine = createFakeEngine(
    { outcome: (): FakeOutcome => ({ type: 'answer' }) },
    {
      async start(request, signal) {
        const { promise, resolve, reject } = Promise.withResolvers<void>();
        promise.catch(() => undefined);
        signal.addEventListener('abort', () => reject(new Error('aborted')), { once: true });
        running.add(request);
        calls.push({ request, finish: resolve, fail: () => reject(new Error('broken')) });
        return { promptTokens: 5, batches: answer(request, promise, () => running.delete(request)) };
      },
    },
  );
  const pool = createPool({
    endpoints: [{ address: 'host', engine }],
    log: createRecordedLog(),
    clock: createManualClock(),
    random: () => 0,
    ...(memberSequences === undefined ? {} : { share: { memberSequences, workspaceShare: 0.5 } }),
  });
  return { pool, calls, running };
}

async function* answer(
  { sampling }: EngineRequest,
  end: Promise<void>,
  onEnd: () => void,
): AsyncGenerator<readonly EngineEvent[], void> {
  try {
    yield [{ type: 'text', choice: 0, text: `seed ${sampling.seed}`, tokens: 1, phase: 0 }];
    await end;
    yield [
      { type: 'choice-end', choice: 0, reason: 'stop' },
      { type: 'end', usage: { promptTokens: 5, cachedTokens: 2, completionTokens: 3, reasoningTokens: 1 } },
    ];
  } finally {
    onEnd();
  }
}

async function readEvents({ batches }: EngineRun, into: EngineEvent[] = []): Promise<EngineEvent[]> {
  for await (const batch of batches) into.push(...batch);
  return into;
}

describe('several choices at servers with a number of sequences', () => {
  it('are calls of their own, with the seeds and usage of one request', async () => {
    const { pool, calls } = createTestPool(4);
    const events = readEvents(await pool.start(createRequest('a', 3, { seed: 7 }), NEVER));
    await yieldToEventLoop();
    assert.deepEqual(
      calls.map(({ request: { choices, sampling } }) => [choices, sampling.seed]),
      [7, 8, 9].map((seed) => [1, seed]),
    );
    for (const { finish } of calls) finish();
    const all = await events;
    for (const choice of [0, 1, 2])
      assert.deepEqual(
        all.filter((event) => 'choice' in event && event.choice === choice),
        [
          { type: 'text', choice, text: `seed ${7 + choice}`, tokens: 1, phase: 0 },
          { type: 'choice-end', choice, reason: 'stop' },
        ],
      );
    assert.deepEqual(all.at(-1), {
      type: 'end',
      usage: { promptTokens: 5, cachedTokens: 2, completionTokens: 9, reasoningTokens: 3 },
    });
    assert.equal(all.filter(({ type }) => type === 'end').length, 1);
    await pool.close();
  });

  it('are one call where the number of sequences is not known', async () => {
    const { pool, calls } = createTestPool(undefined);
    await pool.start(createRequest('a', 3), NEVER);
    assert.deepEqual(
      calls.map(({ request }) => request.choices),
      [3],
    );
    await pool.close();
  });

  it('never exceed the sequences, leave one to others, and follow as sequences become free', async () => {
    const { pool, calls, running } = createTestPool(3);
    const wide = readEvents(await pool.start(createRequest('a', 8), NEVER));
    await yieldToEventLoop();
    assert.equal(running.size, 2);
    const other = readEvents(await pool.start(createRequest('b'), NEVER));
    assert.equal(running.size, 3);
    for (let at = 0; at < 9; at++) {
      calls[at]?.finish();
      await yieldToEventLoop();
      assert.ok(running.size <= 3);
    }
    assert.equal((await wide).filter(({ type }) => type === 'choice-end').length, 8);
    await other;
    await pool.close();
  });

  it('of two requests that each need all sequences come to their end', async () => {
    const { pool, calls } = createTestPool(2);
    const answers = ['a', 'b'].map(async (workspace) =>
      readEvents(await pool.start(createRequest(workspace, 4), NEVER)),
    );
    for (let at = 0; at < 8; at++) {
      await yieldToEventLoop();
      calls[at]?.finish();
    }
    for (const events of await Promise.all(answers)) assert.equal(events.at(-1)?.type, 'end');
    await pool.close();
  });

  it('get sequences although others keep asking for one', async () => {
    const { pool, calls } = createTestPool(2);
    const wide = readEvents(await pool.start(createRequest('a', 3), NEVER));
    let ended = false;
    void wide.then(() => (ended = true));
    let rounds = 0;
    const others: Promise<unknown>[] = [];
    const ask = (workspace: string): number =>
      others.push(pool.start(createRequest(workspace), NEVER).then((run) => readEvents(run)));
    for (const workspace of ['b', 'c', 'd', 'e']) ask(workspace);
    for (; !ended && rounds < 40; rounds++) {
      await yieldToEventLoop();
      const call = calls[rounds];
      assert.ok(call);
      call.finish();
      if (call.request.owner.workspace !== 'a') ask(call.request.owner.workspace);
    }
    assert.ok(rounds < 16, `${rounds} rounds`);
    for (; rounds < calls.length; rounds++) {
      calls[rounds]?.finish();
      await yieldToEventLoop();
    }
    await Promise.all(others);
    await pool.close();
  });

  it('all end when one fails, when the caller leaves, and when the answer is not read', async () => {
    const { pool, calls, running } = createTestPool(4);
    const failing = readEvents(await pool.start(createRequest('a', 3), NEVER));
    await yieldToEventLoop();
    calls[1]?.fail();
    await assert.rejects(failing);
    await yieldToEventLoop();
    assert.equal(running.size, 0);

    const caller = new AbortController();
    const left = readEvents(await pool.start(createRequest('a', 3), caller.signal));
    caller.abort();
    await assert.rejects(left);

    const { batches } = await pool.start(createRequest('a', 3), NEVER);
    await yieldToEventLoop();
    await batches[Symbol.asyncIterator]().return?.();
    await yieldToEventLoop();
    assert.deepEqual(
      pool.describe().map(({ outstanding }) => outstanding),
      [0],
    );
    // The sequences are free again.
    await Promise.all(['b', 'c', 'd', 'e'].map((workspace) => pool.start(createRequest(workspace), NEVER)));
    await pool.close();
  });
});
