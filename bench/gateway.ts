import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import type { Child } from './child.ts';
import { createClient, many } from './load.ts';
import type { Client } from './load.ts';
import { alternate, quantile, ratioOf } from './pairs.ts';
import type { Pairs } from './pairs.ts';
import type { Row } from './table.ts';

const TOKENS = 64;
const STREAMS = 300;
const CONCURRENCY = 16;
const PLAIN_CALLS = 400;
const ROUNDS = 9;

const message = (content: string) => ({ model: 'svc-plus', messages: [{ role: 'user', content }] });
const STREAMED = { ...message(`script:[{"repeat":"word ","times":${TOKENS},"perTick":1}]`), stream: true };
const PLAIN = message('Hello there');

interface Side {
  readonly child: Child;
  readonly client: Client;
}

/** (a) What the service adds to the bytes: CPU a streamed token, latency of a plain request. */
export async function gateway(note: (text: string) => void): Promise<Row[]> {
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const env = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_LOG_LEVEL: 'info' };
  const service = await startChild('./peers/parley-server.ts', env);
  const bare = await startChild('./peers/bare-server.ts');
  try {
    const { url, key } = await service.ask<{ url: string; key: string }>('address');
    const ours: Side = { child: service, client: createClient(`${url}/v1/chat/completions`, key) };
    const port = await bare.ask<number>('port');
    const peer: Side = { child: bare, client: createClient(`http://127.0.0.1:${port}/`, key) };
    // The peer writes the very bytes that we wrote, one frame at a time.
    const streamed = (await ours.client.call(STREAMED)).text;
    const plain = (await ours.client.call(PLAIN)).text;
    await bare.ask({ frames: streamed.split(/(?<=\n\n)/), plain });

    const cpuOfStreams = async ({ child, client }: Side): Promise<number> => {
      const before = await child.ask<number>('cpu');
      await many(STREAMS, CONCURRENCY, () => client.call(STREAMED));
      return ((await child.ask<number>('cpu')) - before) / (STREAMS * TOKENS);
    };
    const latencies = async ({ client }: Side): Promise<number[]> => {
      const answers = await many(PLAIN_CALLS, 1, () => client.call(PLAIN));
      return answers.map((answer) => answer.totalMs);
    };
    for (const side of [ours, peer]) {
      await cpuOfStreams(side);
      await latencies(side);
    }
    note('CPU a streamed token');
    const cpu = await alternate(
      ROUNDS,
      () => cpuOfStreams(ours),
      () => cpuOfStreams(peer),
      note,
    );
    note('latency of a plain request');
    const p50 = { a: [] as number[], b: [] as number[] };
    const p99 = { a: [] as number[], b: [] as number[] };
    const measure = (side: Side, at: 'a' | 'b') => async (): Promise<number> => {
      const all = await latencies(side);
      p50[at].push(quantile(all, 0.5) * 1000);
      p99[at].push(quantile(all, 0.99) * 1000);
      return 0;
    };
    await alternate(ROUNDS, measure(ours, 'a'), measure(peer, 'b'), note);
    ours.client.close();
    peer.client.close();
    const row = (what: string, unit: string, pairs: Pairs, goal: string): Row => ({
      what,
      unit,
      ...pairs,
      peer: 'bare node:http',
      ratio: ratioOf(pairs),
      goal,
    });
    return [
      row(`CPU per streamed token, ${CONCURRENCY} streams at once`, 'µs', cpu, '≤ 1.3'),
      row('plain request, p50', 'µs', p50, '≤ 2'),
      row('plain request, p99', 'µs', p99, '≤ 2'),
    ];
  } finally {
    await Promise.all([service.stop(), bare.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}
