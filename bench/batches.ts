import { lacksWeights } from '../test/models-folder.ts';
import { createClient, firstTokenMs, many, pacedScript, script } from './load.ts';
import type { Client } from './load.ts';
import { alternate, quantile, ratioOf } from './pairs.ts';
import type { Row } from './table.ts';
import { withParley } from './with-parley.ts';

/** As many as a service runs of a batch at a time, so that the same requests live have as much to wait for. */
const CONCURRENCY = 8;
const POLL_MS = 25;

/** An engine, and how much of it makes a measurement. */
interface Load {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly model: string;
  /** What a request of the batch asks, by its number. */
  readonly ask: (at: number) => object;
  /** What somebody asks who waits. */
  readonly askLive: (at: number) => object;
  readonly requests: number;
  readonly liveCalls: number;
  readonly rounds: number;
  readonly goals: { readonly tokens: string; readonly firstToken: string };
}

/** Scripts play at once: what is measured is what the service itself adds. */
const WORDS = { repeat: 'word ', times: 64, perTick: 1 };
const UNPACED = { ask: () => script([WORDS]), askLive: () => script([WORDS]) };

/** As a model that runs elsewhere: 50 ms until the first token, then 20 tokens a second. */
const PACED_TOKENS = 16;
const paced = () => pacedScript(PACED_TOKENS);

const SCRIPTED = { env: { PARLEY_ENGINE_KIND: 'scripted' }, model: 'svc-plus' };

const SCRIPTED_LOADS: readonly Load[] = [
  {
    ...SCRIPTED,
    ...UNPACED,
    name: 'a script without pauses',
    requests: 400,
    liveCalls: 100,
    rounds: 7,
    goals: { tokens: '≥ 0.95', firstToken: 'reported' },
  },
  {
    ...SCRIPTED,
    name: 'a script of 20 tokens a second',
    ask: paced,
    askLive: paced,
    requests: 40,
    liveCalls: 6,
    rounds: 5,
    goals: { tokens: '≥ 0.95', firstToken: '≤ 1.2' },
  },
];

const TINY = 'svc-tiny';

/** The embedded engine, with fewer sequences than a batch has requests at a time. */
const embedded = (modelsFolder: string): Load => ({
  name: `${TINY}, 4 sequences`,
  env: {
    PARLEY_MODELS: modelsFolder,
    PARLEY_ENGINE_SEQUENCES: '4',
    PARLEY_ENGINE_CONTEXT_TOKENS: '1024',
    PARLEY_ENGINE_THREADS: '1',
  },
  model: TINY,
  ask: (at) => ({
    max_tokens: 32,
    messages: [{ role: 'user', content: `Write story ${at} about a lighthouse keeper.` }],
  }),
  askLive: (at) => ({ max_tokens: 4, messages: [{ role: 'user', content: `What is ${at} plus one?` }] }),
  requests: 16,
  liveCalls: 6,
  rounds: 3,
  goals: { tokens: '≥ 0.95', firstToken: 'reported' },
});

/** What a batch costs beside the same requests live, and what it costs those who wait meanwhile. */
export const batches = (note: (text: string) => void): Promise<Row[]> => rowsOf(SCRIPTED_LOADS, note);

/** The same of the embedded engine. */
export async function batchesOfEngine(modelsFolder: string, note: (text: string) => void): Promise<Row[]> {
  const lacks = lacksWeights(TINY);
  if (lacks) note(`batches of the embedded engine are left out: ${lacks}`);
  return lacks ? [] : await rowsOf([embedded(modelsFolder)], note);
}

async function rowsOf(loads: readonly Load[], note: (text: string) => void): Promise<Row[]> {
  const rows: Row[] = [];
  for (const load of loads) rows.push(...(await measure(load, note)));
  return rows;
}

async function measure(load: Load, note: (text: string) => void): Promise<Row[]> {
  const { name, requests, liveCalls, rounds, goals } = load;
  return await withParley(load.env, async ({ url, key }) => {
    const chat = createClient(`${url}/v1/chat/completions`, key);
    const desk = createDesk(url, key);
    const inputOf = (count: number): string =>
      Array.from({ length: count }, (_, at) => {
        const body = { model: load.model, ...load.ask(at) };
        return JSON.stringify({ custom_id: `line ${at}`, method: 'POST', url: '/v1/chat/completions', body });
      }).join('\n');
    const input = await desk.upload(inputOf(requests));
    const long = await desk.upload(inputOf(requests * 20));

    const throughBatch = async (): Promise<number> => {
      const startedAt = performance.now();
      const id = await desk.create(input);
      const batch = await desk.until(id, ({ status }) => status === 'completed');
      const ms = performance.now() - startedAt;
      return (completionTokens(await desk.content(batch.output_file_id ?? ''), requests) / ms) * 1000;
    };
    const live = async (): Promise<number> => {
      let at = 0;
      const startedAt = performance.now();
      const answers = await many(requests, CONCURRENCY, () => chat.call({ model: load.model, ...load.ask(at++) }));
      const ms = performance.now() - startedAt;
      return (completionTokens(answers.map(({ text }) => text).join('\n'), requests) / ms) * 1000;
    };
    const firstToken = async (): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < liveCalls; at++) times.push(await firstTokenOf(chat, load, at));
      return quantile(times, 0.5);
    };
    const firstTokenBesideBatch = async (): Promise<number> => {
      const id = await desk.create(long);
      await desk.until(id, ({ request_counts: { completed } }) => completed >= CONCURRENCY);
      const ms = await firstToken();
      const { status } = await desk.find(id);
      if (status !== 'in_progress') throw new Error(`the batch was ${status} while others were to wait beside it`);
      await desk.cancel(id);
      await desk.until(id, (batch) => batch.status === 'cancelled');
      return ms;
    };

    await live();
    await throughBatch();
    note(`tokens of a batch: ${name}`);
    const tokens = await alternate(rounds, throughBatch, live, note);
    note(`first token beside a batch: ${name}`);
    const first = await alternate(rounds, firstTokenBesideBatch, firstToken, note);
    chat.close();
    return [
      {
        what: `a batch of ${requests} chats, ${name}`,
        unit: 'tok/s',
        ...tokens,
        peer: `the same live, ${CONCURRENCY} at a time`,
        ratio: ratioOf(tokens),
        goal: goals.tokens,
      },
      {
        what: `first token while a batch runs, p50, ${name}`,
        unit: 'ms',
        ...first,
        peer: 'idle',
        ratio: ratioOf(first),
        goal: goals.firstToken,
      },
    ];
  });
}

const firstTokenOf = async (chat: Client, { model, askLive }: Load, at: number): Promise<number> =>
  firstTokenMs(await chat.call({ model, stream: true, ...askLive(at) }));

/** Of all answers in a text. @throws Error when there are not so many. */
function completionTokens(text: string, answers: number): number {
  const counts = [...text.matchAll(/"completion_tokens":\s*(\d+)/g)].map(([, count]) => Number(count));
  if (counts.length !== answers) throw new Error(`${counts.length} answers of ${answers}: ${text.slice(0, 300)}`);
  return counts.reduce((sum, count) => sum + count, 0);
}

interface Batch {
  readonly id: string;
  readonly status: string;
  readonly output_file_id: string | null;
  readonly request_counts: { readonly completed: number };
}

/** Files and batches, over HTTP. */
function createDesk(url: string, key: string) {
  const headers = { authorization: `Bearer ${key}` };
  const ask = async (path: string, init: RequestInit = {}): Promise<Response> => {
    const response = await fetch(`${url}/compatible-mode/v1/${path}`, {
      ...init,
      headers: { ...headers, ...init.headers },
    });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return response;
  };
  const find = async (id: string): Promise<Batch> => (await (await ask(`batches/${id}`)).json()) as Batch;
  return {
    async upload(text: string): Promise<string> {
      const form = new FormData();
      form.set('purpose', 'batch');
      form.set('file', new Blob([text]), 'input.jsonl');
      const { id } = (await (await ask('files', { method: 'POST', body: form })).json()) as { id: string };
      return id;
    },
    async create(input: string): Promise<string> {
      const wish = { input_file_id: input, endpoint: '/v1/chat/completions', completion_window: '24h' };
      const init = { method: 'POST', body: JSON.stringify(wish), headers: { 'content-type': 'application/json' } };
      return ((await (await ask('batches', init)).json()) as Batch).id;
    },
    find,
    cancel: (id: string) => ask(`batches/${id}/cancel`, { method: 'POST' }),
    content: async (file: string): Promise<string> => (await ask(`files/${file}/content`)).text(),
    /** Asks again and again. @throws Error when it ends otherwise. */
    async until(id: string, isReached: (batch: Batch) => boolean): Promise<Batch> {
      for (;;) {
        const batch = await find(id);
        if (isReached(batch)) return batch;
        if (ENDED.has(batch.status)) throw new Error(`the batch is ${JSON.stringify(batch)}`);
        await new Promise((resolve) => setTimeout(resolve, POLL_MS));
      }
    },
  };
}

const ENDED: ReadonlySet<string> = new Set(['completed', 'failed', 'expired', 'cancelled']);
