import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import { createClient, firstTokenMs, many } from './load.ts';
import { alternate, ratioOf } from './pairs.ts';
import { usageOf } from './process-tree.ts';
import { calls, parley } from './proxy.ts';
import type { Proxy } from './proxy.ts';
import type { Row } from './table.ts';

const ROUNDS = 5;
const STREAMS = 256;
/** What each of the streams does in a round: so many calls one after another, at 50 tokens a second. */
const CALLS_EACH = 2;
const TOKENS = 100;
const PACE_MS = 20;

const EARLY_CALLS = 1_000;
const ALL_CALLS = 10_000;
const CONCURRENCY = 16;
const SHORT = 16;
const MIB = 2 ** 20;

/** What is lost when many streams run at once, and whether memory stays where it was. */
export async function underLoad(
  note: (text: string) => void,
): Promise<{ readonly rows: readonly Row[]; readonly remarks: readonly string[] }> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const upstream = await startChild('./peers/upstream.ts');
  try {
    const address = `http://127.0.0.1:${await upstream.ask<number>('port')}/v1`;
    const ours = await parley({ folder, upstream: address });
    try {
      const memory = await memoryOver(ours, note);
      await upstream.ask({ paceMs: PACE_MS });
      const direct = createClient(`${address}/chat/completions`, 'none');
      const counts = { ran: 0, failed: 0 };
      const rate = (call: Proxy['call'], count: typeof counts) => async (): Promise<number> => {
        const startedAt = performance.now();
        const whole = await many(STREAMS * CALLS_EACH, STREAMS, () => isWhole(call, note));
        count.ran += whole.length;
        count.failed += whole.filter((isRight) => !isRight).length;
        const completed = whole.filter(Boolean).length * TOKENS;
        return (completed / (performance.now() - startedAt)) * 1000;
      };
      note(`${STREAMS} streams at once`);
      const directCall = calls(direct);
      const pairs = await alternate(ROUNDS, rate(ours.call, counts), rate(directCall, { ran: 0, failed: 0 }), note);
      direct.close();
      const row: Row = {
        what: `completed tokens, ${STREAMS} streams of ${1000 / PACE_MS} tokens a second`,
        unit: '/s',
        ...pairs,
        peer: 'the upstream itself',
        ratio: ratioOf(pairs),
        goal: '> 0.97',
      };
      return {
        rows: [row, memory],
        remarks: [`${counts.ran} streams through Parley, ${counts.failed} of them failed`],
      };
    } finally {
      await ours.stop();
    }
  } finally {
    await upstream.stop();
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Streams and whole answers by turns; of memory it is what the system holds for the process, not what it says it needs. */
async function memoryOver({ call, pid }: Proxy, note: (text: string) => void): Promise<Row> {
  const run = async (count: number): Promise<number> => {
    note(`${count} calls`);
    let at = 0;
    await many(count, CONCURRENCY, async () => {
      const stream = at++ % 2 === 0;
      const answer = await call({ tokens: SHORT, stream });
      if (stream) return firstTokenMs(answer);
      if (answer.status !== 200) throw new Error(`the service answered ${answer.status}: ${answer.text}`);
      return answer.totalMs;
    });
    return usageOf(pid).rssBytes / MIB;
  };
  const early = await run(EARLY_CALLS);
  const pairs = { a: [await run(ALL_CALLS - EARLY_CALLS)], b: [early] };
  return {
    what: `RSS of the service after ${ALL_CALLS} calls`,
    unit: 'MiB',
    ...pairs,
    peer: `after ${EARLY_CALLS} calls`,
    ratio: ratioOf(pairs),
    goal: '≤ 1.1',
  };
}

async function isWhole(call: Proxy['call'], note: (text: string) => void): Promise<boolean> {
  try {
    firstTokenMs(await call({ tokens: TOKENS, stream: true }));
    return true;
  } catch (error) {
    note(`a stream failed: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
