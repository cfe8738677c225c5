import { totalmem } from 'node:os';
import type { EngineNeeds, EngineSettings } from '../engine-settings.ts';
import type { DeployedEngines } from './deployed.ts';
import { createDeployedEngines } from './deployed-engines.ts';
import type { DeployedEnginesNeeds, KeptEngines } from './deployed-engines.ts';
import { createMemory } from './memory.ts';
import { createOpenUnits } from './open-units.ts';
import { reachUnits } from './reach-units.ts';
import { createReachedEngines } from './reached-engines.ts';

interface OpenDeployedEnginesNeeds extends EngineNeeds, Pick<DeployedEnginesNeeds, 'drainMs' | 'onSwitch'> {
  readonly settings: EngineSettings;
  /** More or less of one serves, by itself. */
  readonly onStanding: (id: string, kept: KeptEngines) => void;
}

interface OpenedDeployedEngines {
  /** Those of this process; none where another one keeps them. */
  readonly kept: KeptEngines;
  /** What calls go to: those of the process that keeps them. */
  readonly callable: Pick<DeployedEngines, 'engineFor'>;
  /** From the process that keeps them: other units serve a deployment, or none. */
  switched(id: string): void;
  close(): Promise<void>;
}

/** Engines of deployments, kept here, or called where the host keeps them. */
export function openDeployedEngines(needs: OpenDeployedEnginesNeeds): OpenedDeployedEngines {
  const { settings, host, drainMs, onStanding } = needs;
  const memory = createMemory({ totalBytes: totalBytes(), availableBytes: () => process.availableMemory() });
  const kept: KeptEngines = createDeployedEngines({
    ...needs,
    ...settings,
    open: createOpenUnits({ ...needs, ...settings, memory }),
    onStanding: (id) => onStanding(id, kept),
  });
  const reached =
    host &&
    createReachedEngines({
      drainMs,
      async reach(id) {
        const held = await host.holdUnits(id);
        if (!held) return undefined;
        const { units, processes, release } = held;
        return { engine: await reachUnits(units, processes, { ...needs, ...settings }), release };
      },
    });
  return {
    kept,
    callable: reached ?? kept,
    switched: (id) => reached?.switched(id),
    async close() {
      await reached?.close();
      await kept.close();
    },
  };
}

/** A container may have less than its machine. */
function totalBytes(): number {
  const allowed = process.constrainedMemory();
  return allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
}
