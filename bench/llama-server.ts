import { join } from 'node:path';
import { createEngineEnv, withParley, withTemporaryFolder } from './bench-service.ts';
import { createBenchClient, createChatClient, getFirstTokenMs, computeTokensPerSecond } from './load.ts';
import type { BenchClient } from './load.ts';
import { runInterleaved, median } from './pairs.ts';
import { readProcessTreeUsage } from './process-tree.ts';
import { findFreePort, startProgram } from './program.ts';
import { setUpLlamaServer } from './setup/llama-server.ts';
import type { ResultRow } from './result-table.ts';

const ROUNDS = 4;
const SEQUENCES = 8;
const CONTEXT_TOKENS = 2048;
const TOKENS = 40;
const SHARED_CALLS = 3;
/** Concurrent prompts with a shared start. Few, because llama-server evaluates each of these prompts whole. */
const SHARED_CONCURRENCY = 3;
/** Enough to show when the first token arrived. */
const FIRST_TOKEN_TOKENS_MAX = 2;
const MIB = 2 ** 20;

const TOPICS = [
  'a lighthouse',
  'a railway',
  'an orchard',
  'a harbour',
  'a desert',
  'a bakery',
  'a glacier',
  'a library',
];
/** Number of sentences of the shared start. With the tokens that the chat template adds, they are about 500 tokens. */
const SENTENCES = 44;

/** Results of one side in one round. Times are in ms, rates in tokens per second. */
interface LlamaServerFigures {
  readonly singleStreamRate: number;
  readonly allStreamsRate: number;
  readonly newPromptMs: number;
  readonly sharedPromptMs: number;
  readonly concurrentSharedPromptMs: number;
  readonly rssMib: number;
}

interface EngineSide {
  readonly client: BenchClient;
  readonly pid: number;
  /** Returns a new number per round, so that no two rounds share the start of a prompt. */
  nextRound(): number;
}

/** Compares the embedded engine behind Parley's HTTP interface with llama-server: one thread each, same weights. */
export async function measureBesideLlamaServer(
  modelFile: string,
  modelsFolder: string,
  logProgress: (text: string) => void,
): Promise<ResultRow[]> {
  const command = await setUpLlamaServer(logProgress);
  return await withTemporaryFolder(async (folder) => {
    const port = await findFreePort();
    const address = `http://127.0.0.1:${port}`;
    const sizes = { parallel: SEQUENCES, 'ctx-size': SEQUENCES * CONTEXT_TOKENS, threads: 1, 'threads-batch': 1 };
    const options = { model: modelFile, host: '127.0.0.1', port, ...sizes };
    const peer = await startProgram({
      command,
      args: Object.entries(options).flatMap(([name, value]) => [`--${name}`, String(value)]),
      healthUrl: `${address}/health`,
      logFile: join(folder, 'llama-server.log'),
    });
    const env = createEngineEnv(modelsFolder, { sequences: SEQUENCES, contextTokens: CONTEXT_TOKENS });
    try {
      return await withParley(env, async (service) => {
        const parley = createSide(createChatClient(service), service.child.pid);
        const llamaServer = createSide(createBenchClient(`${address}/v1/chat/completions`, 'none'), peer.pid);
        for (const { client } of [parley, llamaServer]) await client.call(createRequest('Say hello.', TOKENS));
        const [a = [], b = []] = await runInterleaved(
          ROUNDS,
          [parley, llamaServer].map((side) => () => measureSide(side)),
          logProgress,
        );
        const row = (
          measurement: string,
          unit: string,
          goal: string,
          select: (figures: LlamaServerFigures) => number,
        ): ResultRow => ({ measurement, unit, a: a.map(select), b: b.map(select), peer: 'llama-server', goal });
        parley.client.close();
        llamaServer.client.close();
        return [
          row('1 stream', 'tok/s', '≥ 1.0', (figures) => figures.singleStreamRate),
          row(`${SEQUENCES} streams`, 'tok/s', '≥ 0.9', (figures) => figures.allStreamsRate),
          row('first token of a new 500-token prompt', 'ms', 'reported', (figures) => figures.newPromptMs),
          row(
            'first token of a prompt whose first 500 tokens are cached',
            'ms',
            '≤ 1.1',
            (figures) => figures.sharedPromptMs,
          ),
          row(
            `first token of ${SHARED_CONCURRENCY} such prompts at once`,
            'ms',
            'reported',
            (figures) => figures.concurrentSharedPromptMs,
          ),
          row('RSS', 'MiB', 'reported', (figures) => figures.rssMib),
        ];
      });
    } finally {
      await peer.stop();
    }
  });
}

function createSide(client: BenchClient, pid: number): EngineSide {
  let rounds = 0;
  return { client, pid, nextRound: () => rounds++ };
}

async function measureSide({ client, pid, nextRound }: EngineSide): Promise<LlamaServerFigures> {
  const round = nextRound();
  const measureRate = async (streams: number): Promise<number> => {
    const topics = TOPICS.slice(0, streams);
    const answers = await Promise.all(
      topics.map((topic) =>
        client.call(
          createRequest(`Part ${round} of ${streams}. Write a long story about ${topic} and the sea.`, TOKENS),
        ),
      ),
    );
    return answers.reduce((sum, answer) => sum + computeTokensPerSecond(answer, TOKENS), 0);
  };
  const measureFirstTokenMs = async (text: string): Promise<number> =>
    getFirstTokenMs(await client.call(createRequest(text, FIRST_TOKEN_TOKENS_MAX)));
  const shared = `Notes, part ${round}. ${'The keeper lit the lamp before the fog came in. '.repeat(SENTENCES)}`;
  const singleStreamRate = await measureRate(1);
  const allStreamsRate = await measureRate(SEQUENCES);
  const newPromptMs = await measureFirstTokenMs(`${shared}What was lit?`);
  const sharedTimes: number[] = [];
  for (const topic of TOPICS.slice(0, SHARED_CALLS))
    sharedTimes.push(await measureFirstTokenMs(`${shared}Is there ${topic}?`));
  const concurrentTimes = await Promise.all(
    TOPICS.slice(0, SHARED_CONCURRENCY).map((topic) => measureFirstTokenMs(`${shared}Where is ${topic}?`)),
  );
  return {
    singleStreamRate,
    allStreamsRate,
    newPromptMs,
    sharedPromptMs: median(sharedTimes),
    concurrentSharedPromptMs: median(concurrentTimes),
    rssMib: readProcessTreeUsage(pid).rssBytes / MIB,
  };
}

const createRequest = (content: string, tokens: number): object => ({
  model: 'svc-plus',
  stream: true,
  temperature: 0,
  repetition_penalty: 1,
  max_tokens: tokens,
  messages: [{ role: 'user', content }],
});
