import { createLeasedEngine } from '../../engines/sharing/shared-engine.ts';
import type { EngineHostFunctions } from '../../engines/sharing/protocol.ts';
import type { Clock } from '../../lib/clock.ts';
import type { RpcPeer } from '../../lib/rpc-peer.ts';
import type { LeasedUnits } from '../engine-host.ts';
import type { DeploymentLeaseFunctions } from './protocol.ts';

/** Leases the units that serve a deployment from the primary; undefined when it has none. */
export async function leaseHostedUnits(
  id: string,
  host: Pick<RpcPeer<DeploymentLeaseFunctions & EngineHostFunctions>, 'call'>,
  clock: Pick<Clock, 'monotonic'>,
): Promise<LeasedUnits | undefined> {
  const leased = await host.call('deployment.open', id);
  if (!leased) return undefined;
  const { leaseId, processes, units } = leased;
  return {
    units,
    processes: processes.map((process) => () => createLeasedEngine(process, { host, clock })),
    // The release fails only when the primary has exited, and then no lease is left.
    release: () => host.call('deployment.release', { leaseId }).catch(() => undefined),
  };
}
