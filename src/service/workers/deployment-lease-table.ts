import type { LeaseTable } from '../../engines/sharing/lease-table.ts';
import type { RpcHandlers, RpcPeer } from '../../lib/rpc-peer.ts';
import type { UnitsLease } from '../deployments/local-deployment-engines.ts';
import type { DeploymentLeaseFunctions } from './protocol.ts';
import { createLeasedEngine } from '../../engines/sharing/shared-engine.ts';
import type { EngineHostFunctions } from '../../engines/sharing/protocol.ts';
import type { Clock } from '../../lib/clock.ts';
import type { LeasedUnits } from '../engine-host.ts';

/** Leases on deployment units that one worker holds. */
interface DeploymentLeaseTable {
  readonly handlers: RpcHandlers<DeploymentLeaseFunctions>;
  /** Releases all leases after the worker has exited. */
  releaseAll(): void;
}

/** @param leaseUnits Leases the units that serve a deployment; undefined when it has none. */
export function createDeploymentLeaseTable(
  leaseUnits: (id: string) => UnitsLease | undefined,
  { addLease }: Pick<LeaseTable, 'addLease'>,
): DeploymentLeaseTable {
  const leases = new Map<number, UnitsLease>();
  let lastLeaseId = 0;
  return {
    handlers: {
      'deployment.open'(id) {
        const lease = leaseUnits(id);
        if (!lease) return null;
        const leaseId = ++lastLeaseId;
        leases.set(leaseId, lease);
        const { name, entry, units, connection, processes } = lease;
        // The units lease keeps the processes running, so these leases need no release of their own.
        const processLeases = processes.map((supervised) => addLease({ supervised, release: () => undefined }));
        return { leaseId, processes: processLeases, units: { name, entry, units, connection } };
      },
      'deployment.release'({ leaseId }) {
        leases.get(leaseId)?.release();
        leases.delete(leaseId);
      },
    },
    releaseAll() {
      for (const { release } of leases.values()) release();
      leases.clear();
    },
  };
}

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
