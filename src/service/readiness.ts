import { getEffectiveInterfaces, type Catalogue, type ModelEntry, type ModelInterface } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { RegionId } from '../core/region.ts';
import type { TextEngine } from '../engines/engine.ts';
import type { Clock } from '../lib/clock.ts';
import { listInterfaceStates, type InterfaceState, type Route } from '../protocols/interfaces.ts';
import type { ModelEngines } from './model-engines.ts';
import type { StorageReport } from './storage-report.ts';

/** Maximum age of a token that proves that generation works, in ms. */
const TOKEN_AGE_MS_MAX = 10_000;

/** Time limit for the one token that /ready generates, in ms. */
const PROBE_TIMEOUT_MS = 30_000;

/** Default model, which a newcomer's first call uses. The service is ready when this model generates. */
export const DEFAULT_MODEL = 'svc-plus';

export interface ModelReport {
  readonly model: string;
  readonly state: string;
  readonly reason?: string;
  /** A limit of a working model that its callers should know. */
  readonly warning?: string;
}

/** State of a server tool. `unproven`: its sandbox has not been verified yet. */
export interface ToolReport {
  readonly tool: string;
  readonly state: 'on' | 'off' | 'unproven';
  readonly detail?: string;
  readonly reason?: string;
}

export interface ServiceReport {
  readonly interfaces: readonly InterfaceState[];
  readonly models: readonly ModelReport[];
  readonly tools: readonly ToolReport[];
  readonly storage: StorageReport;
}

/** Note on what searches while there is nothing to search. */
export const NOTHING_TO_SEARCH =
  'the index is empty: add documents with `parley index add FOLDER`, or a provider in search.providers';

const UNKNOWN_CALLS_WARNING =
  'its chat template writes tool calls in a format that Parley cannot read: calls may arrive as text';

/** Reason for a model none of whose interfaces is served. */
const UNSERVED_REASON = 'this version serves none of its interfaces';

/** Maximum age of the result of a check that generated a token, or failed to, in ms. */
const PROBE_AGE_MS_MAX = 2_000;

interface ReadinessDeps {
  readonly catalogue: Pick<Catalogue, 'list' | 'find'>;
  readonly engines: ModelEngines;
  readonly servedRoutes: readonly Route[];
  /** Model interfaces that the endpoints serve. */
  readonly interfaces: readonly ModelInterface[];
  readonly regions: readonly RegionId[];
  readonly clock: Clock;
  readonly getToolReports: () => Promise<readonly ToolReport[]>;
  /** Returns whether a search can find anything. */
  readonly hasSearchContent: () => Promise<boolean>;
  readonly getStorageReport: () => Promise<StorageReport>;
}

/** Builds the report of interfaces, models and tools that startup prints and /ready returns. */
export async function buildServiceReport({
  catalogue,
  engines,
  servedRoutes,
  interfaces,
  regions,
  getToolReports,
  hasSearchContent,
  getStorageReport,
}: ReadinessDeps): Promise<ServiceReport> {
  const models = await Promise.all(
    catalogue.list().map(async (entry) => {
      const isServed = getEffectiveInterfaces(entry).some((each) => interfaces.includes(each));
      if (entry.runner.type !== 'none' && !isServed)
        return { model: entry.name, state: 'off', reason: UNSERVED_REASON };
      const { tools, toolCalls } = entry.abilities;
      return {
        model: entry.name,
        ...(await engines.getState(entry)),
        ...(tools && toolCalls === 'unknown' ? { warning: UNKNOWN_CALLS_WARNING } : {}),
      };
    }),
  );
  const explainMissing = (needed: ModelInterface): string | undefined =>
    explainMissingModel(catalogue.list(), models, needed);
  return {
    interfaces: listInterfaceStates(servedRoutes, {
      regions,
      selectableByModel: interfaces,
      findMissingModelReason: explainMissing,
      // If the database cannot be read, the report of the storage says so.
      ...((await hasSearchContent().catch(() => true)) ? {} : { searchNote: NOTHING_TO_SEARCH }),
    }),
    models,
    tools: await getToolReports(),
    storage: await getStorageReport(),
  };
}

/** Returns undefined when a model serves the interface, else the reason of the first model that would serve it. */
function explainMissingModel(
  entries: readonly ModelEntry[],
  models: readonly ModelReport[],
  needed: ModelInterface,
): string | undefined {
  const capable = entries.filter(({ interfaces }) => interfaces.includes(needed)).map(({ name }) => name);
  const candidates = models.filter(({ model }) => capable.includes(model));
  if (candidates.some(({ state }) => state !== 'off')) return undefined;
  return candidates[0]?.reason ?? 'no model in the catalogue has this interface';
}

export type ReadinessReport = {
  readonly ready: boolean;
  /** `degraded`: requests are answered, but the operator should act. */
  readonly state: 'ready' | 'degraded' | 'unready';
  /** Why the state is not `ready`. */
  readonly reason?: string;
} & ServiceReport;

/**
 * Creates the check behind /ready: that a token can be generated, because one was generated lately or this check generates
 * one; and the report. Any number of callers share a running check, and its result, also a failure, is valid for
 * `PROBE_AGE_MS_MAX`.
 */
export function createReadinessCheck(deps: ReadinessDeps): () => Promise<ReadinessReport> {
  const { catalogue, engines, clock } = deps;
  let running: Promise<ReadinessReport> | undefined;
  let lastProbe: { readonly at: number; readonly reason: string | undefined } | undefined;

  const findReason = async (): Promise<string | undefined> => {
    const entry = catalogue.find(DEFAULT_MODEL);
    const lastTokenAt = (entry && engines.getLastTokenAt(entry)) ?? -Infinity;
    const now = clock.monotonic();
    // A model that was stopped is not ready, although it generated a moment ago.
    const status = entry && (await engines.getState(entry));
    if (status?.state === 'failing') return status.reason;
    if (now - lastTokenAt <= TOKEN_AGE_MS_MAX) return undefined;
    if (lastProbe && now - lastProbe.at <= PROBE_AGE_MS_MAX) return lastProbe.reason;
    const reason = await findUnreadyReason(deps, entry);
    lastProbe = { at: clock.monotonic(), reason };
    return reason;
  };
  const check = async (): Promise<ReadinessReport> => {
    const modelReason = await findReason();
    const report = await buildServiceReport(deps);
    const { storage } = report;
    const unreadyReason = (storage.state === 'failed' ? storage.reason : undefined) ?? modelReason;
    const reason = unreadyReason ?? storage.reason;
    const state = unreadyReason !== undefined ? 'unready' : storage.state === 'degraded' ? 'degraded' : 'ready';
    return { ready: state !== 'unready', state, ...(reason === undefined ? {} : { reason }), ...report };
  };
  return () => (running ??= check().finally(() => (running = undefined)));
}

async function findUnreadyReason(
  { engines }: ReadinessDeps,
  entry: ModelEntry | undefined,
): Promise<string | undefined> {
  if (!entry) return `model ${DEFAULT_MODEL} is not in the catalogue`;
  const state = await engines.getState(entry);
  if (state.state !== 'ready' && state.state !== 'on-demand' && state.state !== 'starting') return state.reason;
  try {
    const lease = await engines.engineFor({ requestedName: DEFAULT_MODEL, entry });
    return await generateProbeToken(lease.engine).finally(lease.release);
  } catch (error) {
    return ServiceError.from(error).message;
  }
}

/** Generates one token. Returns undefined on success, else the reason. */
async function generateProbeToken(engine: TextEngine): Promise<string | undefined> {
  const isChat = engine.capabilities.input === 'chat';
  const call = await engine.start(
    {
      id: 'ready',
      owner: { workspace: '', key: 'ready' },
      input: isChat
        ? { type: 'messages', messages: [{ role: 'user', content: [{ type: 'text', text: 'Hi' }] }] }
        : { type: 'segments', segments: [{ text: 'Hi', special: false }] },
      sampling: { temperature: 0 },
      stop: { strings: [], tokens: [] },
      choices: 1,
      maxTokens: 1,
      phases: [],
    },
    AbortSignal.timeout(PROBE_TIMEOUT_MS),
  );
  for await (const batch of call.batches) if (batch.at(-1)?.type === 'end') return undefined;
  return 'the engine ended its output without an end event';
}
