import { getWeightsSkipReason } from '../test/models-folder.ts';
import {
  createChatClient,
  getFirstTokenMs,
  runConcurrently,
  createPacedScriptRequest,
  createScriptRequest,
} from './load.ts';
import type { BenchClient } from './load.ts';
import { computeQuantile } from './pairs.ts';
import { measureRow } from './result-table.ts';
import type { ResultRow } from './result-table.ts';
import { createEngineEnv, requestService, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';

/** Concurrent live requests: as many as the service runs of one batch at a time, so that both sides wait equally. */
const CONCURRENCY = 8;
const POLL_MS = 25;

/** One engine and the number of requests that make a measurement. */
interface BatchLoad {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly model: string;
  /** Creates the body of the batch request with this index. */
  readonly createRequest: (at: number) => object;
  /** Creates the body of a live request that is timed while a batch runs. */
  readonly createLiveRequest: (at: number) => object;
  readonly requests: number;
  readonly liveCalls: number;
  readonly rounds: number;
  readonly goals: { readonly tokens: string; readonly firstToken: string };
}

/** One token per tick and no pauses, so that the measurement shows the overhead of the service itself. */
const WORDS = { repeat: 'word ', times: 64, perTick: 1 };
const UNPACED_REQUESTS = {
  createRequest: () => createScriptRequest([WORDS]),
  createLiveRequest: () => createScriptRequest([WORDS]),
};

/** Paces answers like a remote model: 50 ms until the first token, then 20 tokens a second. */
const PACED_TOKENS = 16;
const createPacedRequest = () => createPacedScriptRequest(PACED_TOKENS);

const SCRIPTED = { env: { PARLEY_ENGINE_KIND: 'scripted' }, model: 'svc-plus' };

const SCRIPTED_LOADS: readonly BatchLoad[] = [
  {
    ...SCRIPTED,
    ...UNPACED_REQUESTS,
    name: 'a script without pauses',
    requests: 400,
    liveCalls: 100,
    rounds: 7,
    goals: { tokens: '≥ 0.95', firstToken: 'reported' },
  },
  {
    ...SCRIPTED,
    name: 'a script of 20 tokens a second',
    createRequest: createPacedRequest,
    createLiveRequest: createPacedRequest,
    requests: 40,
    liveCalls: 6,
    rounds: 5,
    goals: { tokens: '≥ 0.95', firstToken: '≤ 1.2' },
  },
];

const TINY_MODEL = 'svc-tiny';

/** Runs the embedded engine with fewer sequences than a batch has concurrent requests. */
const createEmbeddedLoad = (modelsFolder: string): BatchLoad => ({
  name: `${TINY_MODEL}, 4 sequences`,
  env: { ...createEngineEnv(modelsFolder, { sequences: 4, contextTokens: 1024 }), PARLEY_LOG_LEVEL: 'info' },
  model: TINY_MODEL,
  createRequest: (at) => ({
    max_tokens: 32,
    messages: [{ role: 'user', content: `Write story ${at} about a lighthouse keeper.` }],
  }),
  createLiveRequest: (at) => ({ max_tokens: 4, messages: [{ role: 'user', content: `What is ${at} plus one?` }] }),
  requests: 16,
  liveCalls: 6,
  rounds: 3,
  goals: { tokens: '≥ 0.95', firstToken: 'reported' },
});

/** Compares a batch with the same requests sent live, and the first token of live requests with and without a batch. */
export const measureBatches = (logProgress: (text: string) => void): Promise<ResultRow[]> =>
  measureLoads(SCRIPTED_LOADS, logProgress);

/** Measures the same on the embedded engine. */
export async function measureEngineBatches(
  modelsFolder: string,
  logProgress: (text: string) => void,
): Promise<ResultRow[]> {
  const skipReason = getWeightsSkipReason(TINY_MODEL);
  if (skipReason) logProgress(`skipped the batches of the embedded engine: ${skipReason}`);
  return skipReason ? [] : await measureLoads([createEmbeddedLoad(modelsFolder)], logProgress);
}

async function measureLoads(loads: readonly BatchLoad[], logProgress: (text: string) => void): Promise<ResultRow[]> {
  const rows: ResultRow[] = [];
  for (const load of loads) rows.push(...(await measureLoad(load, logProgress)));
  return rows;
}

async function measureLoad(load: BatchLoad, logProgress: (text: string) => void): Promise<ResultRow[]> {
  const { name, requests, liveCalls, rounds, goals } = load;
  return await withParley(load.env, async (service) => {
    const chat = createChatClient(service);
    const batchClient = createBatchClient(service);
    const createInput = (count: number): string =>
      Array.from({ length: count }, (_, at) => {
        const body = { model: load.model, ...load.createRequest(at) };
        return JSON.stringify({ custom_id: `line ${at}`, method: 'POST', url: '/v1/chat/completions', body });
      }).join('\n');
    const inputId = await batchClient.upload(createInput(requests));
    const longInputId = await batchClient.upload(createInput(requests * 20));

    const runAsBatch = async (): Promise<number> => {
      const startedAt = performance.now();
      const id = await batchClient.create(inputId);
      const batch = await batchClient.waitUntil(id, ({ status }) => status === 'completed');
      const ms = performance.now() - startedAt;
      return (sumCompletionTokens(await batchClient.content(batch.output_file_id ?? ''), requests) / ms) * 1000;
    };
    const runLive = async (): Promise<number> => {
      let at = 0;
      const startedAt = performance.now();
      const answers = await runConcurrently(requests, CONCURRENCY, () =>
        chat.call({ model: load.model, ...load.createRequest(at++) }),
      );
      const ms = performance.now() - startedAt;
      return (sumCompletionTokens(answers.map(({ text }) => text).join('\n'), requests) / ms) * 1000;
    };
    const measureFirstToken = async (): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < liveCalls; at++) times.push(await callForFirstToken(chat, load, at));
      return computeQuantile(times, 0.5);
    };
    const measureFirstTokenBesideBatch = async (): Promise<number> => {
      const id = await batchClient.create(longInputId);
      await batchClient.waitUntil(id, ({ request_counts: { completed } }) => completed >= CONCURRENCY);
      const ms = await measureFirstToken();
      const { status } = await batchClient.find(id);
      if (status !== 'in_progress')
        throw new Error(`the batch has status ${status}, expected in_progress during the whole measurement`);
      await batchClient.cancel(id);
      await batchClient.waitUntil(id, (batch) => batch.status === 'cancelled');
      return ms;
    };

    await runLive();
    await runAsBatch();
    const tokens = {
      measurement: `a batch of ${requests} chats, ${name}`,
      unit: 'tok/s',
      peer: `the same live, ${CONCURRENCY} at a time`,
      goal: goals.tokens,
    };
    const firstToken = {
      measurement: `first token while a batch runs, p50, ${name}`,
      unit: 'ms',
      peer: 'idle',
      goal: goals.firstToken,
    };
    const rows = [
      await measureRow({ ...tokens, rounds, logProgress }, runAsBatch, runLive),
      await measureRow({ ...firstToken, rounds, logProgress }, measureFirstTokenBesideBatch, measureFirstToken),
    ];
    chat.close();
    return rows;
  });
}

const callForFirstToken = async (
  chat: BenchClient,
  { model, createLiveRequest }: BatchLoad,
  at: number,
): Promise<number> => getFirstTokenMs(await chat.call({ model, stream: true, ...createLiveRequest(at) }));

/** Sums the completion tokens of all answers in a text. @throws Error when the text does not hold that many answers. */
function sumCompletionTokens(text: string, responseCount: number): number {
  const counts = [...text.matchAll(/"completion_tokens":\s*(\d+)/g)].map(([, count]) => Number(count));
  if (counts.length !== responseCount)
    throw new Error(`${counts.length} answers of ${responseCount}: ${text.slice(0, 300)}`);
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly request_counts: { readonly completed: number };
}

/** Client of the HTTP interfaces for files and batches. */
function createBatchClient(service: BenchService) {
  const send = (path: string, init?: Parameters<typeof requestService>[2]): Promise<Response> =>
    requestService(service, `/compatible-mode/v1/${path}`, init);
  const find = async (id: string): Promise<Batch> => (await (await send(`batches/${id}`)).json()) as Batch;
  return {
    async upload(text: string): Promise<string> {
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob([text]), 'input.jsonl');
      const { id } = (await (await send('files', { method: 'POST', body: form })).json()) as { id: string };
      return id;
    },
    async create(input: string): Promise<string> {
      const body = { input_file_id: input, endpoint: '/v1/chat/completions', completion_window: '24h' };
      return ((await (await send('batches', { json: body })).json()) as Batch).id;
    },
    find,
    cancel: (id: string) => send(`batches/${id}/cancel`, { method: 'POST' }),
    content: async (file: string): Promise<string> => (await send(`files/${file}/content`)).text(),
    /** Polls until the predicate holds. @throws Error when the batch reaches another final status. */
    async waitUntil(id: string, isReached: (batch: Batch) => boolean): Promise<Batch> {
      for (;;) {
        const batch = await find(id);
        if (isReached(batch)) return batch;
        if (FINAL_STATUSES.has(batch.status)) throw new Error(`the batch ended unexpectedly: ${JSON.stringify(batch)}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
  };
}

const FINAL_STATUSES: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
