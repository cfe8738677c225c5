import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { LineResult } from '../../../core/batch.ts';
import { systemClock } from '../../../lib/clock.ts';
import type { ExecuteLine, LineWish } from './execute-line.ts';
import { runLines } from './run-lines.ts';
import { createSlots, type Slots } from './slots.ts';

const OWNER = { workspace: 'w', region: 'cn-beijing', keyId: 'k' } as const;
const URL = '/v1/completions';

interface Wanted {
  readonly lines: number;
  readonly executeLine: ExecuteLine;
  readonly slots?: Slots;
  readonly heldMax?: number;
  readonly signal?: AbortSignal;
  readonly done?: readonly number[];
  readonly batch?: string;
  readonly write?: (result: LineResult) => Promise<void>;
}

/** What has to be done by others is done. */
const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

const good = (wish: LineWish, status = 200) => ({
  status,
  requestId: 'RID',
  body: wish.body,
  headers: undefined,
  error: status === 200 ? undefined : { code: 'c', message: 'm' },
  retryAfterSeconds: undefined,
});

/** The lines that got a result, in the order in which they got it. */
async function run({ lines, executeLine, done = [], batch = 'b', ...wanted }: Wanted) {
  const results: LineResult[] = [];
  async function* input(): AsyncGenerator<Uint8Array> {
    for (let line = 1; line <= lines; line += 1) {
      const body = { model: 'm', prompt: String(line) };
      const text = JSON.stringify({ custom_id: String(line), method: 'POST', url: URL, body });
      yield Uint8Array.from(Buffer.from(`${text}\n`));
    }
  }
  const heldMax = wanted.heldMax ?? 4;
  const work = runLines({
    batch: { id: batch, endpoint: URL, owner: OWNER },
    input: input(),
    doneLines: async ({ first, last }) => new Set(done.filter((line) => line >= first && line <= last)),
    executeLine,
    results: {
      add: wanted.write ?? (async (result) => void results.push(result)),
      flush: async () => undefined,
    },
    slots: wanted.slots ?? createSlots(heldMax),
    heldMax,
    clock: systemClock,
    newId: () => 'RID',
    pace: { restMsMin: 1, restMsMax: 4 },
    signal: wanted.signal ?? new AbortController().signal,
  });
  return { results, work };
}

const numberOf = ({ body }: LineWish): number => Number(body['prompt']);

describe('the lines of a batch', () => {
  it('are asked for once each, but for those that have a result', async () => {
    const asked: number[] = [];
    const { results, work } = await run({
      lines: 9,
      done: [1, 4, 9],
      executeLine: async (wish) => {
        asked.push(numberOf(wish));
        assert.deepEqual([wish.batch, wish.url, wish.owner], ['b', URL, OWNER]);
        return good(wish, numberOf(wish) === 5 ? 400 : 200);
      },
    });
    await work;
    assert.deepEqual(asked, [2, 3, 5, 6, 7, 8]);
    assert.deepEqual(
      results.filter(({ kind }) => kind === 'error').map(({ line }) => line),
      [5],
    );
    assert.equal(results.length, 6);
  });

  it('are run side by side, no more than there are places', async () => {
    let [running, most] = [0, 0];
    const { work } = await run({
      lines: 40,
      executeLine: async (wish) => {
        running += 1;
        most = Math.max(most, running);
        await turn();
        running -= 1;
        return good(wish);
      },
    });
    await work;
    assert.equal(most, 4);
  });

  it('of two batches take turns, also where one began much earlier', async () => {
    const slots = createSlots(2);
    const order: string[] = [];
    const executeLine: ExecuteLine = async (wish) => {
      order.push(wish.batch);
      await new Promise((resolve) => setImmediate(resolve));
      return good(wish);
    };
    const first = await run({ lines: 400, executeLine, slots, heldMax: 2, batch: 'first' });
    while (order.length <= 20) await new Promise((resolve) => setImmediate(resolve));
    const from = order.length;
    const second = await run({ lines: 40, executeLine, slots, heldMax: 2, batch: 'second' });
    await second.work;
    const shared = order.slice(from, order.lastIndexOf('second'));
    const own = shared.filter((batch) => batch === 'second').length;
    assert.ok(own >= 0.4 * shared.length, `${own} of ${shared.length}`);
    await first.work;
  });

  it('that are refused for want of room are asked again, and rest meanwhile', async () => {
    const refusals = new Map<number, number>();
    const { results, work } = await run({
      lines: 6,
      executeLine: async (wish) => {
        const before = refusals.get(numberOf(wish)) ?? 0;
        refusals.set(numberOf(wish), before + 1);
        return good(wish, before < 3 ? (before % 2 === 0 ? 429 : 503) : 200);
      },
    });
    await work;
    assert.deepEqual([...refusals.values()], [4, 4, 4, 4, 4, 4]);
    assert.deepEqual(new Set(results.map(({ kind }) => kind)), new Set(['output']));
  });

  it('stop when they are told to: what was answered by then is kept, and nothing runs on', async () => {
    const caller = new AbortController();
    let running = 0;
    const { results, work } = await run({
      lines: 100,
      signal: caller.signal,
      executeLine: async (wish) => {
        if (numberOf(wish) <= 10) return good(wish);
        running += 1;
        if (running === 4) caller.abort(new Error('cancelled'));
        await new Promise<void>((resolve) => {
          if (wish.signal.aborted) resolve();
          else wish.signal.addEventListener('abort', () => resolve());
        });
        running -= 1;
        throw wish.signal.reason;
      },
    });
    await assert.rejects(work, /cancelled/);
    assert.deepEqual([results.length, running], [10, 0]);
  });

  it('stop where a result cannot be kept', async () => {
    let asked = 0;
    const { work } = await run({
      lines: 1_000,
      executeLine: async (wish) => {
        asked += 1;
        return good(wish);
      },
      write: async () => {
        throw new Error('disk');
      },
    });
    await assert.rejects(work, /disk/);
    assert.ok(asked < 20, String(asked));
  });
});
