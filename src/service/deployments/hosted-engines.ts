import { createNoCapacityError } from '../../catalogue/deployment-entry.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { DeploymentSummary, DeploymentEngines } from './deployment-engines.ts';
import { createDrainableEngine, type DrainableEngine } from './drainable-engine.ts';

/** Units of a deployment that the primary hosts, connected to this process. */
export interface HostedUnits {
  readonly engine: TextEngine;
  /** Releases the lease; the primary may then close the units. */
  release(): Promise<void>;
}

export interface HostedEnginesDeps {
  /** Leases the units from the primary; undefined when no unit serves. @param id Id of the deployment. */
  readonly openUnits: (id: string) => Promise<HostedUnits | undefined>;
  /** How long running calls may continue after other units have replaced theirs, in ms. */
  readonly drainMs: number;
}

/** Engines of deployments that the primary hosts, as a worker uses them. */
export interface HostedEngines extends Pick<DeploymentEngines, 'engineFor' | 'close'> {
  /** Drops the cached units of a deployment: later calls lease again, and the old lease is released with its last call. */
  invalidate(id: string): void;
}

/**
 * Share of the drain limit by which a worker aborts calls earlier than the primary. The primary would close the engine under
 * them without a reason that the caller could read.
 */
const EARLY_ABORT_SHARE = 0.1;
const EARLY_ABORT_MS_MAX = 1_000;

export function createHostedEngines({ openUnits, drainMs }: HostedEnginesDeps): HostedEngines {
  const enginesById = new Map<string, Promise<DrainableEngine | undefined>>();
  const draining = new Set<Promise<void>>();

  const open = async ({ id, name }: DeploymentSummary): Promise<DrainableEngine | undefined> => {
    const units = await openUnits(id);
    if (!units) return undefined;
    const { engine, release } = units;
    const close = async (): Promise<void> => {
      await engine.close();
      await release();
    };
    const earlyMs = Math.min(EARLY_ABORT_MS_MAX, drainMs * EARLY_ABORT_SHARE);
    return createDrainableEngine({ engine, name, drainMs: drainMs - earlyMs, close });
  };

  const forget = (id: string): Promise<DrainableEngine | undefined> | undefined => {
    const opened = enginesById.get(id);
    enginesById.delete(id);
    return opened;
  };

  /** Resolves when the engine is drained. Errors are ignored: the primary cleans up. */
  const retire = (opened: Promise<DrainableEngine | undefined>): void => {
    const drained = opened
      .then((serving) => serving?.retire())
      .catch(() => undefined)
      .finally(() => draining.delete(drained));
    draining.add(drained);
  };

  return {
    async engineFor(deployment) {
      const { id } = deployment;
      for (;;) {
        const opened = enginesById.get(id) ?? open(deployment);
        enginesById.set(id, opened);
        const serving = await opened.catch((error: unknown) => {
          if (enginesById.get(id) === opened) enginesById.delete(id);
          throw error;
        });
        // The units were replaced while this process connected to them.
        if (enginesById.get(id) !== opened) continue;
        if (serving) return serving.lease();
        enginesById.delete(id);
        throw createNoCapacityError(deployment);
      }
    },
    invalidate(id) {
      const opened = forget(id);
      if (opened) retire(opened);
    },
    async close() {
      const opened = [...enginesById.keys()].flatMap((id) => forget(id) ?? []);
      for (const each of opened) retire(each);
      for (const each of opened) (await each.catch(() => undefined))?.abort();
      await Promise.all(draining);
    },
  };
}
