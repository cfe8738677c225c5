import { totalmem } from 'node:os';
import type { EngineDeps, EngineSettings } from '../engine-settings.ts';
import type { DeploymentEngines } from './deployment-engines.ts';
import {
  createLocalDeploymentEngines,
  type LocalDeploymentEnginesDeps,
  type LocalDeploymentEngines,
} from './local-deployment-engines.ts';
import { createMemoryBudget } from './memory-budget.ts';
import { createOpenUnits } from './open-units.ts';
import { connectUnits } from './connect-units.ts';
import { createHostedEngines } from './hosted-engines.ts';

interface OpenDeploymentEnginesDeps
  extends EngineDeps, Pick<LocalDeploymentEnginesDeps, 'drainMs' | 'onUnitsReplaced'> {
  readonly settings: EngineSettings;
  /** Called when the number of serving units of a deployment changes without a request. */
  readonly onServingStatus: (id: string, local: LocalDeploymentEngines) => void;
}

interface DeploymentEnginesModule {
  /** Engines that this process hosts; none in a worker. */
  readonly local: LocalDeploymentEngines;
  /** Engines that calls use: local ones, or those that the primary hosts. */
  readonly callable: Pick<DeploymentEngines, 'engineFor'>;
  /** Drops cached units of a deployment after the primary has replaced or removed them. */
  invalidate(id: string): void;
  close(): Promise<void>;
}

/** Opens the engines of deployments: hosted here, or leased from the primary in a worker. */
export function openDeploymentEngines(deps: OpenDeploymentEnginesDeps): DeploymentEnginesModule {
  const { settings, host, drainMs, onServingStatus } = deps;
  const memory = createMemoryBudget({ totalBytes: getTotalBytes(), availableBytes: () => process.availableMemory() });
  const local: LocalDeploymentEngines = createLocalDeploymentEngines({
    ...deps,
    ...settings,
    open: createOpenUnits({ ...deps, ...settings, memory }),
    onServingStatus: (id) => onServingStatus(id, local),
  });
  const hosted =
    host &&
    createHostedEngines({
      drainMs,
      async openUnits(id) {
        const leased = await host.leaseUnits(id);
        if (!leased) return undefined;
        const { units, processes, release } = leased;
        return { engine: await connectUnits(units, processes, { ...deps, ...settings }), release };
      },
    });
  return {
    local,
    callable: hosted ?? local,
    invalidate: (id) => hosted?.invalidate(id),
    async close() {
      await hosted?.close();
      await local.close();
    },
  };
}

/** Returns the memory of the machine or the container, whichever is smaller, in bytes. */
function getTotalBytes(): number {
  const limitBytes = process.constrainedMemory();
  return limitBytes > 0 ? Math.min(limitBytes, totalmem()) : totalmem();
}
