import type { ModelEntry } from '../../catalogue/model.ts';
import type { EngineRegistry } from '../../engines/engine-registry.ts';
import type { Pool } from '../../engines/pool/pool.ts';
import type { ModelState } from '../engine-host.ts';
import { createServerPool } from '../server-engines.ts';
import { createServerKey, getRunnerOptions, type Runner, type RunnerDeps, type RunningEngine } from './runner.ts';
import { createRunningTextEngine, recordModelInfo } from './running-engine.ts';

/** The pool of an entry's servers. */
export interface RunningPool extends RunningEngine {
  readonly describeMembers: Pool['describe'];
}

export interface UpstreamRunnerDeps extends RunnerDeps {
  /** Engines on other servers hold no weights here, so their number has no limit. */
  readonly pools: EngineRegistry<RunningPool>;
}

/** Runs models on servers by URL. */
export function createUpstreamRunner(deps: UpstreamRunnerDeps): Runner {
  const { pools } = deps;
  const getKey = (entry: ModelEntry): string => createServerKey(entry, deps);

  const openPool = async (entry: ModelEntry): Promise<RunningPool> => {
    const onToken = deps.createTokenRecorder(getKey(entry));
    const pool = await createServerPool(entry, getRunnerOptions(entry, 'upstream'), {
      ...deps,
      workspaceShare: deps.llama.workspaceShare,
      onToken,
    });
    recordModelInfo(entry, pool, deps);
    return Object.assign(createRunningTextEngine(pool), { describeMembers: () => pool.describe() });
  };

  return {
    parts: ['text', 'embeddings', 'ranking'],
    getKey,
    lease: (entry) => pools.lease(getKey(entry), () => openPool(entry)),
    getState: async (entry) => describePool(pools.find(getKey(entry)), getRunnerOptions(entry, 'upstream').addresses),
  };
}

/** Summarizes the state of a model's servers, naming each of them unless all are ready. */
function describePool(pool: RunningPool | undefined, addresses: readonly string[]): ModelState {
  if (!pool) return { state: 'on-demand', reason: `served by ${addresses.map((url) => new URL(url).host).join(', ')}` };
  const members = pool.describeMembers();
  const memberStates = members
    .map(({ address, state }) => (state === 'ready' ? address : `${address} (${state})`))
    .join(', ');
  return pool.state === 'ready' && members.every(({ state }) => state === 'ready')
    ? { state: 'ready' }
    : { state: pool.state, reason: `served by ${memberStates}` };
}
