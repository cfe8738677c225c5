import { lacksWeights } from '../test/models-folder.ts';
import { createClient, firstTokenMs, pacedScript } from './load.ts';
import type { Client } from './load.ts';
import { alternate, quantile, ratioOf } from './pairs.ts';
import type { Row } from './table.ts';
import { until } from './until.ts';
import { withParley } from './with-parley.ts';

/** Callers of the deployment that has too much to do; it has one unit. */
const CALLERS = 8;
/** Of a deployment to come up. A small model takes seconds. */
const READY_MS_MAX = 60_000;

/** An engine, and what is asked of it. */
interface Load {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly model: string;
  /** Of those who saturate a deployment, by number. */
  readonly ask: (at: number) => object;
  /** Of somebody who waits for another one. */
  readonly askOther: (at: number) => object;
  readonly calls: number;
  readonly rounds: number;
  readonly goal: string;
}

/** As a model that runs elsewhere. */
const paced = () => pacedScript(8);

const SCRIPTED: Load = {
  name: 'a script of 20 tokens a second',
  env: { PARLEY_ENGINE_KIND: 'scripted' },
  model: 'svc-plus',
  ask: paced,
  askOther: paced,
  calls: 6,
  rounds: 7,
  goal: '≤ 1.2',
};

const TINY = 'svc-tiny';

/** Two engine processes, which share the processors. */
const embedded = (modelsFolder: string): Load => ({
  name: TINY,
  env: { PARLEY_MODELS: modelsFolder, PARLEY_ENGINE_CONTEXT_TOKENS: '1024', PARLEY_ENGINE_THREADS: '1' },
  model: TINY,
  ask: (at) => ({
    max_tokens: 64,
    messages: [{ role: 'user', content: `Write story ${at} about a lighthouse keeper.` }],
  }),
  askOther: (at) => ({ max_tokens: 4, messages: [{ role: 'user', content: `What is ${at} plus one?` }] }),
  calls: 6,
  rounds: 5,
  goal: 'reported',
});

/** What a deployment that has too much to do costs those who call another one. */
export const deployments = (note: (text: string) => void): Promise<Row[]> => measure(SCRIPTED, note);

/** The same of the embedded engine. */
export async function deploymentsOfEngine(modelsFolder: string, note: (text: string) => void): Promise<Row[]> {
  const lacks = lacksWeights(TINY);
  if (lacks) note(`deployments of the embedded engine are left out: ${lacks}`);
  return lacks ? [] : await measure(embedded(modelsFolder), note);
}

async function measure(load: Load, note: (text: string) => void): Promise<Row[]> {
  const { name, calls, rounds, goal } = load;
  return await withParley(load.env, async ({ url, key }) => {
    const chat = createClient(`${url}/v1/chat/completions`, key);
    const desk = createDesk(url, key);
    const [busy, other] = await Promise.all([desk.create(load.model, 'busy'), desk.create(load.model, 'other')]);

    const firstToken = async (): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < calls; at++)
        times.push(firstTokenMs(await chat.call({ model: other, stream: true, ...load.askOther(at) })));
      return quantile(times, 0.5);
    };
    const firstTokenBesideBusy = async (): Promise<number> => {
      const saturated = saturate(chat, (at) => ({ model: busy, stream: true, ...load.ask(at) }));
      await saturated.begun;
      const ms = await firstToken();
      await saturated.stop();
      return ms;
    };

    await firstToken();
    note(`first token beside a saturated deployment: ${name}`);
    const first = await alternate(rounds, firstTokenBesideBusy, firstToken, note);
    chat.close();
    return [
      {
        what: `first token of a deployment while ${CALLERS} callers wait for another one, p50, ${name}`,
        unit: 'ms',
        ...first,
        peer: 'idle',
        ratio: ratioOf(first),
        goal,
      },
    ];
  });
}

/** Callers that ask again as soon as they are answered, until they are told to stop. */
function saturate(chat: Client, bodyOf: (at: number) => object) {
  const { promise: begun, resolve } = Promise.withResolvers<void>();
  let isOver = false;
  let asked = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isOver) {
      firstTokenMs(await chat.call(bodyOf(asked++)));
      // By then each caller has asked, and all but one of them wait.
      resolve();
    }
  });
  return {
    begun,
    async stop(): Promise<void> {
      isOver = true;
      await Promise.all(callers);
    },
  };
}

/** Deployments, over HTTP. */
function createDesk(url: string, key: string) {
  const ask = async (path: string, init: RequestInit = {}) => {
    const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
    const response = await fetch(`${url}/api/v1/deployments${path}`, { ...init, headers });
    if (!response.ok) throw new Error(`${path} answered ${response.status}: ${await response.text()}`);
    return ((await response.json()) as { output: { deployed_model: string; status: string } }).output;
  };
  return {
    /** @returns its name. */
    async create(model: string, suffix: string): Promise<string> {
      const wish = { model_name: model, plan: 'mu', capacity: 1, suffix };
      const { deployed_model: name } = await ask('', { method: 'POST', body: JSON.stringify(wish) });
      const isRunning = async (): Promise<boolean> => (await ask(`/${name}`)).status === 'RUNNING';
      if (!(await until(isRunning, READY_MS_MAX))) throw new Error(`${name} did not come up`);
      return name;
    },
  };
}
