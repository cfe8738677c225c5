import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startChild } from './child.ts';
import { during, firstTokenMs } from './load.ts';
import { inTurn, quantile, ratioOf } from './pairs.ts';
import { usageOf } from './process-tree.ts';
import { bareProxy, litellm, parley, portkey } from './proxy.ts';
import type { Proxy } from './proxy.ts';
import { setUpLitellm } from './setup/litellm.ts';
import { setUpPortkey } from './setup/portkey.ts';
import type { Row } from './table.ts';

const CONCURRENCY = 16;
const ROUNDS = 5;
const WARM_MS = 2_500;
const WINDOW_MS = 1_500;
const PLAIN_WINDOW_MS = 1_000;
/** What a token costs is the slope between streams of these two lengths; what a request costs is the rest. */
const LONG = 64;
const SHORT = 8;
/** Tokens that come one by one, as a model makes them: 100 a second in each stream. */
const PACE_MS = 10;

/** What one side did in one round. CPU is that of the proxy's whole process tree, in µs; times are in ms. */
interface Figures {
  readonly perCore: number;
  readonly plainPerCore: number;
  readonly whole: readonly number[];
  readonly first: readonly number[];
  readonly cpuOfRequest: number;
  readonly cpuOfToken: number;
  readonly cpuOfPacedToken: number;
}

/** The same upstream behind each of four proxies: what a request costs, and how long it takes, when 16 run at once. */
export async function proxies(note: (text: string) => void): Promise<Row[]> {
  const programs = { litellm: await setUpLitellm(note), portkey: await setUpPortkey(note) };
  const folder = mkdtempSync(join(tmpdir(), 'parley-bench-'));
  const upstream = await startChild('./peers/upstream.ts');
  const started: Proxy[] = [];
  try {
    const about = { folder, upstream: `http://127.0.0.1:${await upstream.ask<number>('port')}/v1` };
    const start = async (proxy: Promise<Proxy>): Promise<Proxy> => {
      started.push(await proxy);
      return proxy;
    };
    await start(parley(about));
    const bare = await start(bareProxy(about));
    note('starting the other gateways');
    const peers = [
      { proxy: bare, times: 'reported', perCore: 'reported' },
      { proxy: await start(portkey(about, programs.portkey)), times: '< 1', perCore: '≥ 5' },
      { proxy: await start(litellm(about, programs.litellm)), times: '< 1', perCore: '≥ 15' },
    ];
    for (const { name, call } of started) {
      note(`warming ${name}`);
      await during(WARM_MS, CONCURRENCY, async () => firstTokenMs(await call({ tokens: LONG, stream: true })));
    }
    const pace = (paceMs: number): Promise<string> => upstream.ask({ paceMs });
    const all = await inTurn(
      ROUNDS,
      started.map((proxy) => () => figuresOf(proxy, pace)),
      note,
    );
    const [a = [], ...others] = all;
    return peers.flatMap((peer, i) => rowsOf(a, others[i] ?? [], peer));
  } finally {
    await Promise.all([...started.map((proxy) => proxy.stop()), upstream.stop()]);
    rmSync(folder, { recursive: true, force: true });
  }
}

async function figuresOf(proxy: Proxy, pace: (ms: number) => Promise<unknown>): Promise<Figures> {
  const streams = (tokens: number) => async () => {
    const answer = await proxy.call({ tokens, stream: true });
    return { whole: answer.totalMs, first: firstTokenMs(answer) };
  };
  const plain = async (): Promise<void> => {
    const { status, text } = await proxy.call({ tokens: LONG, stream: false });
    if (status !== 200 || !text.includes('word word')) throw new Error(`${proxy.name} answered ${status}: ${text}`);
  };
  await pace(0);
  const long = await measured(proxy, WINDOW_MS, streams(LONG));
  const short = await measured(proxy, WINDOW_MS, streams(SHORT));
  const unstreamed = await measured(proxy, PLAIN_WINDOW_MS, plain);
  await pace(PACE_MS);
  const pacedLong = await measured(proxy, WINDOW_MS, streams(LONG));
  const pacedShort = await measured(proxy, WINDOW_MS, streams(SHORT));
  await pace(0);
  const slope = (longer: number, shorter: number): number => (longer - shorter) / (LONG - SHORT);
  const cpuOfToken = slope(long.cpu, short.cpu);
  return {
    perCore: 1e6 / long.cpu,
    plainPerCore: 1e6 / unstreamed.cpu,
    whole: long.results.map(({ whole }) => whole),
    first: long.results.map(({ first }) => first),
    cpuOfRequest: short.cpu - SHORT * cpuOfToken,
    cpuOfToken,
    cpuOfPacedToken: slope(pacedLong.cpu, pacedShort.cpu),
  };
}

/** CPU per call, in µs, of the proxy alone. */
async function measured<T>(
  { pid }: Proxy,
  ms: number,
  work: () => Promise<T>,
): Promise<{ readonly results: readonly T[]; readonly cpu: number }> {
  const before = usageOf(pid).cpuMicros;
  const results = await during(ms, CONCURRENCY, work);
  return { results, cpu: (usageOf(pid).cpuMicros - before) / results.length };
}

function rowsOf(
  ours: readonly Figures[],
  theirs: readonly Figures[],
  { proxy, times, perCore }: { readonly proxy: Proxy; readonly times: string; readonly perCore: string },
): Row[] {
  const row = (what: string, unit: string, goal: string, of: (figures: Figures) => number): Row => {
    const pairs = { a: ours.map(of), b: theirs.map(of) };
    return { what, unit, ...pairs, peer: proxy.name, ratio: ratioOf(pairs), goal };
  };
  const latencies = (what: string, of: (figures: Figures) => readonly number[]): Row[] =>
    [50, 95, 99].map((percent) =>
      row(`${what}, p${percent}`, 'ms', times, (figures) => quantile(of(figures), percent / 100)),
    );
  return [
    row(`${LONG}-token streams a second and core`, '/s', perCore, (figures) => figures.perCore),
    row('unstreamed requests a second and core', '/s', 'reported', (figures) => figures.plainPerCore),
    ...latencies('whole stream', (figures) => figures.whole),
    ...latencies('first token', (figures) => figures.first),
    row('CPU per streamed request, without its tokens', 'µs', '≤ 350 µs', (figures) => figures.cpuOfRequest),
    row('CPU per streamed token, as fast as they come', 'µs', '≤ 25 µs', (figures) => figures.cpuOfToken),
    row('CPU per streamed token, 100 a second', 'µs', '≤ 25 µs', (figures) => figures.cpuOfPacedToken),
  ];
}
