import { withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';
import { startChild } from './child.ts';
import type { BenchChild } from './child.ts';
import { createBenchClient, createChatClient, runConcurrently } from './load.ts';
import type { BenchClient } from './load.ts';
import { runAlternately, computeQuantile } from './pairs.ts';
import type { Pairs } from './pairs.ts';
import type { ResultRow } from './result-table.ts';

const TOKENS = 64;
const STREAMS = 300;
const CONCURRENCY = 16;
const PLAIN_CALLS = 400;
const ROUNDS = 9;

const createRequest = (content: string) => ({ model: 'svc-plus', messages: [{ role: 'user', content }] });
const STREAMED = { ...createRequest(`script:[{"repeat":"word ","times":${TOKENS},"perTick":1}]`), stream: true };
const PLAIN = createRequest('Hello there');

interface GatewaySide {
  readonly child: BenchChild;
  readonly client: BenchClient;
}

/** Measures what the service adds to a bare server: CPU per streamed token, latency of a plain request. */
export const measureGateway = (logProgress: (text: string) => void): Promise<ResultRow[]> =>
  withParley({ PARLEY_ENGINE_KIND: 'scripted' }, (service) => compareWithBareServer(service, logProgress));

async function compareWithBareServer(service: BenchService, logProgress: (text: string) => void): Promise<ResultRow[]> {
  const bare = await startChild('./peers/bare-server.ts');
  try {
    const parley: GatewaySide = { child: service.child, client: createChatClient(service) };
    const port = await bare.request<number>('port');
    const peer: GatewaySide = { child: bare, client: createBenchClient(`http://127.0.0.1:${port}/`, service.key) };
    // The peer writes the same bytes as Parley, one frame at a time.
    const streamedText = (await parley.client.call(STREAMED)).text;
    const plainText = (await parley.client.call(PLAIN)).text;
    await bare.request({ frames: streamedText.split(/(?<=\n\n)/), plain: plainText });

    const measureStreamCpu = async ({ child, client }: GatewaySide): Promise<number> => {
      const before = await child.request<number>('cpu');
      await runConcurrently(STREAMS, CONCURRENCY, () => client.call(STREAMED));
      return ((await child.request<number>('cpu')) - before) / (STREAMS * TOKENS);
    };
    const measureLatencies = async ({ client }: GatewaySide): Promise<number[]> => {
      const answers = await runConcurrently(PLAIN_CALLS, 1, () => client.call(PLAIN));
      return answers.map((answer) => answer.totalMs);
    };
    for (const side of [parley, peer]) {
      await measureStreamCpu(side);
      await measureLatencies(side);
    }
    logProgress('CPU per streamed token');
    const cpu = await runAlternately(
      ROUNDS,
      () => measureStreamCpu(parley),
      () => measureStreamCpu(peer),
      logProgress,
    );
    logProgress('latency of a plain request');
    const p50 = { a: [] as number[], b: [] as number[] };
    const p99 = { a: [] as number[], b: [] as number[] };
    const measurePercentiles = (side: GatewaySide, sideName: 'a' | 'b') => async (): Promise<number> => {
      const all = await measureLatencies(side);
      p50[sideName].push(computeQuantile(all, 0.5) * 1000);
      p99[sideName].push(computeQuantile(all, 0.99) * 1000);
      return 0;
    };
    await runAlternately(ROUNDS, measurePercentiles(parley, 'a'), measurePercentiles(peer, 'b'), logProgress);
    parley.client.close();
    peer.client.close();
    const row = (measurement: string, unit: string, pairs: Pairs, goal: string): ResultRow => ({
      measurement,
      unit,
      ...pairs,
      peer: 'bare node:http',
      goal,
    });
    return [
      row(`CPU per streamed token, ${CONCURRENCY} streams at once`, 'µs', cpu, '≤ 1.3'),
      row('plain request, p50', 'µs', p50, '≤ 2'),
      row('plain request, p99', 'µs', p99, '≤ 2'),
    ];
  } finally {
    await bare.stop();
  }
}
