import { getWeightsSkipReason } from '../test/models-folder.ts';
import { createChatClient, getFirstTokenMs, createPacedScriptRequest } from './load.ts';
import type { BenchClient } from './load.ts';
import { computeQuantile } from './pairs.ts';
import { measureRow } from './result-table.ts';
import type { ResultRow } from './result-table.ts';
import { waitUntil } from './wait-until.ts';
import { requestService, withParley } from './bench-service.ts';
import type { BenchService } from './bench-service.ts';

/** Concurrent callers of the saturated deployment, which has one unit. */
const CALLERS = 8;
/** Limit for a deployment to become ready, in ms. A small model takes seconds. */
const READY_MS_MAX = 60_000;

/** One engine and the requests that are sent to it. */
interface DeploymentLoad {
  readonly name: string;
  readonly env: Readonly<Record<string, string>>;
  readonly model: string;
  /** Creates the body of a request to the saturated deployment, by its index. */
  readonly createBusyRequest: (at: number) => object;
  /** Creates the body of a timed request to the other deployment, by its index. */
  readonly createOtherRequest: (at: number) => object;
  readonly calls: number;
  readonly rounds: number;
  readonly goal: string;
}

/** Paces answers like a remote model. */
const createPacedRequest = () => createPacedScriptRequest(8);

const SCRIPTED: DeploymentLoad = {
  name: 'a script of 20 tokens a second',
  env: { PARLEY_ENGINE_KIND: 'scripted' },
  model: 'svc-plus',
  createBusyRequest: createPacedRequest,
  createOtherRequest: createPacedRequest,
  calls: 6,
  rounds: 7,
  goal: '≤ 1.2',
};

const TINY_MODEL = 'svc-tiny';

/** Two engine processes that share the processor cores. */
const createEmbeddedLoad = (modelsFolder: string): DeploymentLoad => ({
  name: TINY_MODEL,
  env: { PARLEY_MODELS: modelsFolder, PARLEY_ENGINE_CONTEXT_TOKENS: '1024', PARLEY_ENGINE_THREADS: '1' },
  model: TINY_MODEL,
  createBusyRequest: (at) => ({
    max_tokens: 64,
    messages: [{ role: 'user', content: `Write story ${at} about a lighthouse keeper.` }],
  }),
  createOtherRequest: (at) => ({ max_tokens: 4, messages: [{ role: 'user', content: `What is ${at} plus one?` }] }),
  calls: 6,
  rounds: 5,
  goal: 'reported',
});

/** Measures how a saturated deployment delays the first token of another deployment. */
export const measureDeployments = (logProgress: (text: string) => void): Promise<ResultRow[]> =>
  measureLoad(SCRIPTED, logProgress);

/** Measures the same on the embedded engine. */
export async function measureEngineDeployments(
  modelsFolder: string,
  logProgress: (text: string) => void,
): Promise<ResultRow[]> {
  const skipReason = getWeightsSkipReason(TINY_MODEL);
  if (skipReason) logProgress(`skipped the deployments of the embedded engine: ${skipReason}`);
  return skipReason ? [] : await measureLoad(createEmbeddedLoad(modelsFolder), logProgress);
}

async function measureLoad(load: DeploymentLoad, logProgress: (text: string) => void): Promise<ResultRow[]> {
  const { name, calls, rounds, goal } = load;
  return await withParley(load.env, async (service) => {
    const chat = createChatClient(service);
    const deploymentClient = createDeploymentClient(service);
    const [busy, other] = await Promise.all([
      deploymentClient.create(load.model, 'busy'),
      deploymentClient.create(load.model, 'other'),
    ]);

    const measureFirstToken = async (): Promise<number> => {
      const times: number[] = [];
      for (let at = 0; at < calls; at++)
        times.push(getFirstTokenMs(await chat.call({ model: other, stream: true, ...load.createOtherRequest(at) })));
      return computeQuantile(times, 0.5);
    };
    const measureFirstTokenBesideBusy = async (): Promise<number> => {
      const saturated = saturate(chat, (at) => ({ model: busy, stream: true, ...load.createBusyRequest(at) }));
      await saturated.isSaturated;
      const ms = await measureFirstToken();
      await saturated.stop();
      return ms;
    };

    await measureFirstToken();
    const measurement = `first token of a deployment while ${CALLERS} callers wait for another one, p50, ${name}`;
    const row = await measureRow(
      { measurement, unit: 'ms', peer: 'idle', goal, rounds, logProgress },
      measureFirstTokenBesideBusy,
      measureFirstToken,
    );
    chat.close();
    return [row];
  });
}

/** Runs callers that each send the next request as soon as the last one is answered, until `stop` is called. */
function saturate(chat: BenchClient, createBody: (at: number) => object) {
  const { promise: isSaturated, resolve } = Promise.withResolvers<void>();
  let isStopped = false;
  let sentCount = 0;
  const callers = Array.from({ length: CALLERS }, async () => {
    while (!isStopped) {
      getFirstTokenMs(await chat.call(createBody(sentCount++)));
      // After the first response every caller has sent a request, and all but one of them wait.
      resolve();
    }
  });
  return {
    isSaturated,
    async stop(): Promise<void> {
      isStopped = true;
      await Promise.all(callers);
    },
  };
}

/** Client of the HTTP interface for deployments. */
function createDeploymentClient(service: BenchService) {
  const send = async (path: string, json?: object) => {
    const response = await requestService(service, `/api/v1/deployments${path}`, json && { json });
    return ((await response.json()) as { output: { deployed_model: string; status: string } }).output;
  };
  return {
    /** Creates a deployment and waits until it is ready. Returns the name of the deployed model. */
    async create(model: string, suffix: string): Promise<string> {
      const body = { model_name: model, plan: 'mu', capacity: 1, suffix };
      const { deployed_model: name } = await send('', body);
      const isRunning = async (): Promise<boolean> => (await send(`/${name}`)).status === 'RUNNING';
      if (!(await waitUntil(isRunning, READY_MS_MAX)))
        throw new Error(`${name} is not running after ${READY_MS_MAX} ms`);
      return name;
    },
  };
}
