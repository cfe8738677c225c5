import { applyEngineModelInfo } from '../catalogue/engine-model-info.ts';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import { UPSTREAM_CONTEXT_TOKENS } from '../engines/limits.ts';
import { systemClock } from '../lib/clock.ts';
import { detectLoadedModelInfo } from './detect-loaded-model-info.ts';
import { createServerPool } from './server-engines.ts';

/** An entry, completed with what the model's servers report. */
export interface QueriedEntry {
  readonly entry: ModelEntry;
  /** Whether the context is known: declared, or reported by a server. */
  readonly isContextKnown: boolean;
  /** Why the servers, or some of them, did not report. */
  readonly problem?: string;
}

interface QueryDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** Asks the servers of an entry with `url` for context and abilities. Other entries stay as they are: nothing runs yet. */
export async function queryServers(entry: ModelEntry, { environment, log }: QueryDeps): Promise<QueriedEntry> {
  const { runner } = entry;
  if (runner.type !== 'upstream')
    return { entry, isContextKnown: runner.type !== 'program' || !entry.isContextGuessed };
  const deps = { environment, log, clock: systemClock, workspaceShare: 1, onToken: () => undefined };
  try {
    const pool = await createServerPool(entry, runner, deps);
    try {
      const loaded = await pool.loadModel();
      return {
        entry: applyEngineModelInfo(entry, detectLoadedModelInfo(entry, loaded, pool.capabilities)),
        isContextKnown: !entry.isContextGuessed || loaded.contextTokens !== UPSTREAM_CONTEXT_TOKENS,
        ...(loaded.unverified ? { problem: describeCause(loaded.unverified.reason) } : {}),
      };
    } finally {
      await pool.close();
    }
  } catch (thrown) {
    return { entry, isContextKnown: !entry.isContextGuessed, problem: describeCause(ServiceError.from(thrown)) };
  }
}

/** Returns what the operator may know, and a caller may not: addresses and answers of the server. */
const describeCause = ({ message, cause }: ServiceError): string => (cause instanceof Error ? cause.message : message);
