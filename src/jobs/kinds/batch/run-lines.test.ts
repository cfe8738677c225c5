import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { BatchLineResult } from '../../../core/batch.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { ExecuteLine, LineRequest } from './execute-line.ts';
import { runLines } from './run-lines.ts';
import { createSemaphore, type Semaphore } from '../../../lib/semaphore.ts';

const OWNER = { workspace: 'w', region: 'cn-beijing', keyId: 'k' } as const;
const ENDPOINT = '/v1/completions';

interface TestRunOptions {
  readonly lines: number;
  readonly executeLine: ExecuteLine;
  readonly semaphore?: Semaphore;
  /** Permits of the semaphore, and the maximum number of lines in memory. */
  readonly linesAtOnceMax?: number;
  readonly signal?: AbortSignal;
  readonly done?: readonly number[];
  readonly batch?: string;
  readonly write?: (result: BatchLineResult) => Promise<void>;
}

/** Waits for one turn of the event loop. */
const waitForEventLoop = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const createResponse = (request: LineRequest, status = 200) => ({
  status,
  requestId: 'RID',
  body: request.body,
  headers: undefined,
  error: status === 200 ? undefined : { code: 'c', message: 'm' },
  retryAfterSeconds: undefined,
});

/** Runs lines and collects their results in the order of completion. */
async function run({ lines, executeLine, done = [], batch = 'b', ...options }: TestRunOptions) {
  const results: BatchLineResult[] = [];
  async function* input(): AsyncGenerator<Uint8Array> {
    for (let line = 1; line <= lines; line += 1) {
      const body = { model: 'm', prompt: String(line) };
      const text = JSON.stringify({ custom_id: String(line), method: 'POST', url: ENDPOINT, body });
      yield Uint8Array.from(Buffer.from(`${text}\n`));
    }
  }
  const linesAtOnceMax = options.linesAtOnceMax ?? 4;
  const work = runLines({
    batch: { id: batch, endpoint: ENDPOINT, owner: OWNER },
    input: input(),
    findDoneLines: async ({ first, last }) => new Set(done.filter((line) => line >= first && line <= last)),
    executeLine,
    results: {
      add: options.write ?? (async (result) => void results.push(result)),
      flush: async () => undefined,
    },
    semaphore: options.semaphore ?? createSemaphore({ permits: linesAtOnceMax }),
    linesInMemoryMax: linesAtOnceMax,
    clock: systemClock,
    createRequestId: () => 'RID',
    backoff: { delayMsMin: 1, delayMsMax: 4 },
    signal: options.signal ?? new AbortController().signal,
  });
  return { results, work };
}

const parseNumber = ({ body }: LineRequest): number => Number(body['prompt']);

describe('runLines', () => {
  it('runs each line without a result once', async () => {
    const requested: number[] = [];
    const { results, work } = await run({
      lines: 9,
      done: [1, 4, 9],
      executeLine: async (request) => {
        requested.push(parseNumber(request));
        assert.deepEqual([request.batchId, request.url, request.owner], ['b', ENDPOINT, OWNER]);
        return createResponse(request, parseNumber(request) === 5 ? 400 : 200);
      },
    });
    await work;
    assert.deepEqual(requested, [2, 3, 5, 6, 7, 8]);
    assert.deepEqual(
      results.filter(({ kind }) => kind === 'error').map(({ line }) => line),
      [5],
    );
    assert.equal(results.length, 6);
  });

  it('runs as many lines at the same time as the semaphore has permits', async () => {
    let [running, maxRunning] = [0, 0];
    const { work } = await run({
      lines: 40,
      executeLine: async (request) => {
        running += 1;
        maxRunning = Math.max(maxRunning, running);
        await waitForEventLoop();
        running -= 1;
        return createResponse(request);
      },
    });
    await work;
    assert.equal(maxRunning, 4);
  });

  it('shares the semaphore evenly between two batches', async () => {
    const semaphore = createSemaphore({ permits: 2 });
    const order: string[] = [];
    const executeLine: ExecuteLine = async (request) => {
      order.push(request.batchId);
      await waitForEventLoop();
      return createResponse(request);
    };
    const first = await run({ lines: 400, executeLine, semaphore, linesAtOnceMax: 2, batch: 'first' });
    while (order.length <= 20) await waitForEventLoop();
    const from = order.length;
    const second = await run({ lines: 40, executeLine, semaphore, linesAtOnceMax: 2, batch: 'second' });
    await second.work;
    const shared = order.slice(from, order.lastIndexOf('second'));
    const secondCount = shared.filter((batch) => batch === 'second').length;
    assert.ok(secondCount >= 0.4 * shared.length, `${secondCount} of ${shared.length}`);
    await first.work;
  });

  it('retries lines rejected for lack of capacity after a delay', async () => {
    const refusals = new Map<number, number>();
    const { results, work } = await run({
      lines: 6,
      executeLine: async (request) => {
        const before = refusals.get(parseNumber(request)) ?? 0;
        refusals.set(parseNumber(request), before + 1);
        return createResponse(request, before < 3 ? (before % 2 === 0 ? 429 : 503) : 200);
      },
    });
    await work;
    assert.deepEqual([...refusals.values()], [4, 4, 4, 4, 4, 4]);
    assert.deepEqual(new Set(results.map(({ kind }) => kind)), new Set(['output']));
  });

  it('stops on abort and keeps the results received so far', async () => {
    const caller = new AbortController();
    let running = 0;
    const { results, work } = await run({
      lines: 100,
      signal: caller.signal,
      executeLine: async (request) => {
        if (parseNumber(request) <= 10) return createResponse(request);
        running += 1;
        if (running === 4) caller.abort(new Error('cancelled'));
        await new Promise<void>((resolve) => {
          if (request.signal.aborted) resolve();
          else request.signal.addEventListener('abort', () => resolve());
        });
        running -= 1;
        throw request.signal.reason;
      },
    });
    await assert.rejects(work, /cancelled/);
    assert.deepEqual([results.length, running], [10, 0]);
  });

  it('stops if a result cannot be written', async () => {
    let requested = 0;
    const { work } = await run({
      lines: 1_000,
      executeLine: async (request) => {
        requested += 1;
        return createResponse(request);
      },
      write: async () => {
        throw new Error('disk');
      },
    });
    await assert.rejects(work, /disk/);
    assert.ok(requested < 20, String(requested));
  });
});
