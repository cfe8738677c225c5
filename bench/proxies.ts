import { withTemporaryFolder } from './bench-service.ts';
import { startChild } from './child.ts';
import { runForDuration, getFirstTokenMs } from './load.ts';
import { runInterleaved, computeQuantile } from './pairs.ts';
import { readProcessTreeUsage } from './process-tree.ts';
import { startBareProxy, startLitellm, startParley, startPortkey } from './proxy.ts';
import type { Proxy } from './proxy.ts';
import { setUpLitellm } from './setup/litellm.ts';
import { setUpPortkey } from './setup/portkey.ts';
import type { ResultRow } from './result-table.ts';

const CONCURRENCY = 16;
const ROUNDS = 5;
const WARM_UP_MS = 2_500;
const WINDOW_MS = 1_500;
const PLAIN_WINDOW_MS = 1_000;
/** The cost of a token is the slope between streams of these two lengths; the rest is the cost of the request. */
const LONG_STREAM_TOKENS = 64;
const SHORT_STREAM_TOKENS = 8;
/** Interval between tokens in ms, as a model generates them: 100 tokens per second in each stream. */
const PACE_MS = 10;

/** Results of one proxy in one round. CPU is that of the proxy's whole process tree, in µs; times are in ms. */
interface ProxyFigures {
  readonly streamsPerCore: number;
  readonly requestsPerCore: number;
  readonly totalMs: readonly number[];
  readonly firstTokenMs: readonly number[];
  readonly cpuPerRequest: number;
  readonly cpuPerToken: number;
  readonly cpuPerPacedToken: number;
}

/** Compares four proxies in front of the same upstream, with 16 concurrent requests: CPU per request, and latency. */
export async function measureProxies(logProgress: (text: string) => void): Promise<ResultRow[]> {
  const programs = { litellm: await setUpLitellm(logProgress), portkey: await setUpPortkey(logProgress) };
  return await withTemporaryFolder((folder) => compareProxies(folder, programs, logProgress));
}

async function compareProxies(
  folder: string,
  programs: { readonly litellm: string; readonly portkey: string },
  logProgress: (text: string) => void,
): Promise<ResultRow[]> {
  const upstream = await startChild('./peers/upstream.ts');
  const started: Proxy[] = [];
  try {
    const setup = { folder, upstream: `http://127.0.0.1:${await upstream.request<number>('port')}/v1` };
    const start = async (proxy: Promise<Proxy>): Promise<Proxy> => {
      started.push(await proxy);
      return proxy;
    };
    await start(startParley(setup));
    const bare = await start(startBareProxy(setup));
    logProgress('starting the other gateways');
    const peers = [
      { proxy: bare, times: 'reported', perCore: 'reported' },
      { proxy: await start(startPortkey(setup, programs.portkey)), times: '< 1', perCore: '≥ 5' },
      { proxy: await start(startLitellm(setup, programs.litellm)), times: '< 1', perCore: '≥ 15' },
    ];
    for (const { name, call } of started) {
      logProgress(`warming up ${name}`);
      await runForDuration(WARM_UP_MS, CONCURRENCY, async () =>
        getFirstTokenMs(await call({ tokens: LONG_STREAM_TOKENS, stream: true })),
      );
    }
    const setPace = (paceMs: number): Promise<string> => upstream.request({ paceMs });
    const all = await runInterleaved(
      ROUNDS,
      started.map((proxy) => () => measureProxy(proxy, setPace)),
      logProgress,
    );
    const [a = [], ...others] = all;
    return peers.flatMap((peer, i) => createRows(a, others[i] ?? [], peer));
  } finally {
    await Promise.all([...started.map((proxy) => proxy.stop()), upstream.stop()]);
  }
}

async function measureProxy(proxy: Proxy, setPace: (ms: number) => Promise<unknown>): Promise<ProxyFigures> {
  const runStream = (tokens: number) => async () => {
    const answer = await proxy.call({ tokens, stream: true });
    return { totalMs: answer.totalMs, firstTokenMs: getFirstTokenMs(answer) };
  };
  const runUnstreamed = async (): Promise<void> => {
    const { status, text } = await proxy.call({ tokens: LONG_STREAM_TOKENS, stream: false });
    if (status !== 200 || !text.includes('word word')) throw new Error(`${proxy.name} answered ${status}: ${text}`);
  };
  await setPace(0);
  const long = await measureCpuPerCall(proxy, WINDOW_MS, runStream(LONG_STREAM_TOKENS));
  const short = await measureCpuPerCall(proxy, WINDOW_MS, runStream(SHORT_STREAM_TOKENS));
  const unstreamed = await measureCpuPerCall(proxy, PLAIN_WINDOW_MS, runUnstreamed);
  await setPace(PACE_MS);
  const pacedLong = await measureCpuPerCall(proxy, WINDOW_MS, runStream(LONG_STREAM_TOKENS));
  const pacedShort = await measureCpuPerCall(proxy, WINDOW_MS, runStream(SHORT_STREAM_TOKENS));
  await setPace(0);
  const computeSlope = (longer: number, shorter: number): number =>
    (longer - shorter) / (LONG_STREAM_TOKENS - SHORT_STREAM_TOKENS);
  const cpuPerToken = computeSlope(long.cpu, short.cpu);
  return {
    streamsPerCore: 1e6 / long.cpu,
    requestsPerCore: 1e6 / unstreamed.cpu,
    totalMs: long.results.map(({ totalMs }) => totalMs),
    firstTokenMs: long.results.map(({ firstTokenMs }) => firstTokenMs),
    cpuPerRequest: short.cpu - SHORT_STREAM_TOKENS * cpuPerToken,
    cpuPerToken,
    cpuPerPacedToken: computeSlope(pacedLong.cpu, pacedShort.cpu),
  };
}

/** Runs calls for `ms` milliseconds. Returns their results and the proxy's CPU time per call, in µs. */
async function measureCpuPerCall<T>(
  { pid }: Proxy,
  ms: number,
  work: () => Promise<T>,
): Promise<{ readonly results: readonly T[]; readonly cpu: number }> {
  const before = readProcessTreeUsage(pid).cpuMicros;
  const results = await runForDuration(ms, CONCURRENCY, work);
  return { results, cpu: (readProcessTreeUsage(pid).cpuMicros - before) / results.length };
}

function createRows(
  parley: readonly ProxyFigures[],
  peer: readonly ProxyFigures[],
  { proxy, times, perCore }: { readonly proxy: Proxy; readonly times: string; readonly perCore: string },
): ResultRow[] {
  const row = (
    measurement: string,
    unit: string,
    goal: string,
    select: (figures: ProxyFigures) => number,
  ): ResultRow => ({ measurement, unit, a: parley.map(select), b: peer.map(select), peer: proxy.name, goal });
  const latencies = (measurement: string, select: (figures: ProxyFigures) => readonly number[]): ResultRow[] =>
    [50, 95, 99].map((percent) =>
      row(`${measurement}, p${percent}`, 'ms', times, (figures) => computeQuantile(select(figures), percent / 100)),
    );
  return [
    row(`${LONG_STREAM_TOKENS}-token streams per core-second`, '/s', perCore, (figures) => figures.streamsPerCore),
    row('unstreamed requests per core-second', '/s', 'reported', (figures) => figures.requestsPerCore),
    ...latencies('whole stream', (figures) => figures.totalMs),
    ...latencies('first token', (figures) => figures.firstTokenMs),
    row('CPU per streamed request, without its tokens', 'µs', '≤ 350 µs', (figures) => figures.cpuPerRequest),
    row('CPU per streamed token, without pacing', 'µs', '≤ 25 µs', (figures) => figures.cpuPerToken),
    row('CPU per streamed token, 100 tokens per second', 'µs', '≤ 25 µs', (figures) => figures.cpuPerPacedToken),
  ];
}
