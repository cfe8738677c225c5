import type { BenchmarkResult } from './benchmark.ts';
import { withTemporaryFolder } from './bench-service.ts';
import { startChild } from './child.ts';
import { createBenchClient, getFirstTokenMs, runConcurrently } from './load.ts';
import { readProcessTreeUsage } from './process-tree.ts';
import { createCall, startParley } from './proxy.ts';
import type { Proxy } from './proxy.ts';
import { measureRow } from './result-table.ts';
import type { ResultRow } from './result-table.ts';

const ROUNDS = 5;
const STREAMS = 256;
/** Consecutive calls of each stream in a round, at 50 tokens per second. */
const CALLS_PER_STREAM = 2;
const TOKENS = 100;
const PACE_MS = 20;

const EARLY_CALLS = 1_000;
const ALL_CALLS = 10_000;
const CONCURRENCY = 16;
const SHORT_ANSWER_TOKENS = 16;
const MIB = 2 ** 20;

/** Measures the lost throughput when many streams run at once, and whether the service's memory stays constant. */
export const measureUnderLoad = (logProgress: (text: string) => void): Promise<BenchmarkResult> =>
  withTemporaryFolder((folder) => measureInFolder(folder, logProgress));

async function measureInFolder(folder: string, logProgress: (text: string) => void): Promise<BenchmarkResult> {
  const upstream = await startChild('./peers/upstream.ts');
  try {
    const address = `http://127.0.0.1:${await upstream.request<number>('port')}/v1`;
    const parley = await startParley({ folder, upstream: address });
    try {
      const memory = await measureMemory(parley, logProgress);
      await upstream.request({ paceMs: PACE_MS });
      const direct = createBenchClient(`${address}/chat/completions`, 'none');
      const counts = { ran: 0, failed: 0 };
      const measureRate = (call: Proxy['call'], count: typeof counts) => async (): Promise<number> => {
        const startedAt = performance.now();
        const outcomes = await runConcurrently(STREAMS * CALLS_PER_STREAM, STREAMS, () =>
          isCompleteStream(call, logProgress),
        );
        count.ran += outcomes.length;
        count.failed += outcomes.filter((isRight) => !isRight).length;
        const completed = outcomes.filter(Boolean).length * TOKENS;
        return (completed / (performance.now() - startedAt)) * 1000;
      };
      const row = await measureRow(
        {
          measurement: `completed tokens, ${STREAMS} streams of ${1000 / PACE_MS} tokens a second`,
          unit: '/s',
          peer: 'the upstream itself',
          goal: '> 0.97',
          rounds: ROUNDS,
          logProgress,
        },
        measureRate(parley.call, counts),
        measureRate(createCall(direct), { ran: 0, failed: 0 }),
      );
      direct.close();
      return {
        rows: [row, memory],
        remarks: [`${counts.ran} streams through Parley, ${counts.failed} failed`],
      };
    } finally {
      await parley.stop();
    }
  } finally {
    await upstream.stop();
  }
}

/** Alternates streamed and unstreamed calls. Reads the resident memory of the process tree from the system. */
async function measureMemory({ call, pid }: Proxy, logProgress: (text: string) => void): Promise<ResultRow> {
  const runCalls = async (count: number): Promise<number> => {
    logProgress(`${count} calls`);
    let at = 0;
    await runConcurrently(count, CONCURRENCY, async () => {
      const stream = at++ % 2 === 0;
      const answer = await call({ tokens: SHORT_ANSWER_TOKENS, stream });
      if (stream) return getFirstTokenMs(answer);
      if (answer.status !== 200) throw new Error(`the service answered ${answer.status}: ${answer.text}`);
      return answer.totalMs;
    });
    return readProcessTreeUsage(pid).rssBytes / MIB;
  };
  const early = await runCalls(EARLY_CALLS);
  return {
    measurement: `RSS of the service after ${ALL_CALLS} calls`,
    unit: 'MiB',
    a: [await runCalls(ALL_CALLS - EARLY_CALLS)],
    b: [early],
    peer: `after ${EARLY_CALLS} calls`,
    goal: '≤ 1.1',
  };
}

async function isCompleteStream(call: Proxy['call'], logProgress: (text: string) => void): Promise<boolean> {
  try {
    getFirstTokenMs(await call({ tokens: TOKENS, stream: true }));
    return true;
  } catch (error) {
    logProgress(`a stream failed: ${error instanceof Error ? error.message : String(error)}`);
    return false;
  }
}
