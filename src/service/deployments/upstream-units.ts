import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import { DEPLOYMENT_SERVERS_GRACE_MS } from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createPool, type PoolEndpoint } from '../../engines/pool/pool.ts';
import type { Clock } from '../../lib/clock.ts';
import { createLinkedAbort } from '../../lib/linked-abort.ts';
import { createServerMembers, getPoolShare } from '../server-engines.ts';
import type { DeploymentUnits, UnitsRequest } from './deployment-units.ts';
import { probeUnits, type ProbeResult } from './probe-units.ts';

export interface UpstreamUnitsDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Share of the servers' sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
  readonly log: Log;
  readonly clock: Clock;
}

/**
 * Opens as many of a model's upstream servers as units are requested, preferring those that answer now. The servers are not
 * reserved: other deployments and the model itself may use them too.
 */
export async function openUpstreamUnits(
  { name, entry, units: wanted }: UnitsRequest,
  runs: Extract<ModelEntry['runner'], { readonly type: 'upstream' }>,
  { environment, workspaceShare, log, clock }: UpstreamUnitsDeps,
  signal: AbortSignal,
): Promise<DeploymentUnits> {
  const allMembers = await createServerMembers(entry, runs, { environment, workspaceShare, log });
  const engines = allMembers.map(({ engine }) => engine);
  const close = async (closing: readonly PoolEndpoint[]): Promise<void> => {
    await Promise.all(closing.map(({ engine }) => engine.close()));
  };
  try {
    const failures = await probeServers(engines, { name, wanted }, signal);
    const healthy = allMembers.filter((_, at) => failures[at] === undefined);
    if (healthy.length === 0)
      throw new ServiceError('overloaded', `No upstream server answers: ${failures[0]?.message ?? ''}`);
    const used = healthy.slice(0, wanted);
    await close(allMembers.filter((member) => !used.includes(member)));
    const pool = createPool({ endpoints: used, share: getPoolShare(runs.remote, workspaceShare), log, clock });
    const isShort = used.length < wanted;
    const reason = `${healthy.length} of ${allMembers.length} upstream servers answer; each server is one unit.`;
    return {
      engine: pool,
      units: used.map(({ engine }) => engine),
      isUp: (unit) => isMemberUsable(pool.describe()[used.findIndex(({ engine }) => engine === unit)]?.state),
      ...(isShort ? { reason } : {}),
      connection: { type: 'servers', addresses: used.map(({ address }) => address) },
      processes: [],
      close: () => pool.close(),
    };
  } catch (error) {
    await close(allMembers);
    throw error;
  }
}

/** Probes all servers and returns their errors. After enough have answered, slow ones get only a short time more. */
async function probeServers(
  engines: readonly TextEngine[],
  { name, wanted }: { readonly name: string; readonly wanted: number },
  signal: AbortSignal,
): Promise<readonly ProbeResult[]> {
  const probing = createLinkedAbort(signal);
  const onTimeout = (): void =>
    probing.abort(new ServiceError('timeout', 'The server did not answer shortly after the others.'));
  let timer: NodeJS.Timeout | undefined;
  let answered = 0;
  const probeServer = async (engine: TextEngine): Promise<ProbeResult> => {
    const [failure] = await probeUnits([engine], { workspace: name }, probing.signal);
    if (!failure && ++answered === wanted) timer = setTimeout(onTimeout, DEPLOYMENT_SERVERS_GRACE_MS);
    return failure;
  };
  try {
    const results = await Promise.all(engines.map((engine) => probeServer(engine).catch(ServiceError.from)));
    signal.throwIfAborted();
    return results;
  } finally {
    clearTimeout(timer);
    probing.unlink();
  }
}

/** Returns whether a pool member can take calls: a busy one can; one that must first prove its recovery cannot. */
const isMemberUsable = (state: 'ready' | 'suspect' | 'busy' | 'down' | 'trial' | undefined): boolean =>
  state === 'ready' || state === 'suspect' || state === 'busy';
