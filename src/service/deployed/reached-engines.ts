import { noCapacity } from '../../catalogue/deployed.ts';
import type { TextEngine } from '../../engines/engine.ts';
import type { CalledDeployment, DeployedEngines } from './deployed.ts';
import { createServing } from './serving.ts';
import type { Serving } from './serving.ts';

/** What serves of a deployment, as it can be called here. */
export interface ReachedUnits {
  readonly engine: TextEngine;
  /** Gives it back: from then on it may be closed where it is kept. */
  release(): Promise<void>;
}

export interface ReachedEnginesNeeds {
  /** Asks the process that keeps the engines. Undefined where nothing of it serves. @param id Of the deployment. */
  readonly reach: (id: string) => Promise<ReachedUnits | undefined>;
  /** How long calls may go on when another engine has taken the place of theirs, in ms. */
  readonly drainMs: number;
}

/** Deployments whose engines another process of ours keeps. */
export interface ReachedEngines extends Pick<DeployedEngines, 'engineFor' | 'close'> {
  /** Other units serve it, or none: later calls go there, and what is held is given back with its last call. */
  switched(id: string): void;
}

/**
 * Ours: the part of the drain limit by which calls are broken off here sooner than where the engine is kept, which would end
 * it under them without a word of why.
 */
const SOONER_SHARE = 0.1;
const SOONER_MS_MAX = 1_000;

export function createReachedEngines({ reach, drainMs }: ReachedEnginesNeeds): ReachedEngines {
  const known = new Map<string, Promise<Serving | undefined>>();
  const ending = new Set<Promise<void>>();

  const open = async ({ id, name }: CalledDeployment): Promise<Serving | undefined> => {
    const reached = await reach(id);
    if (!reached) return undefined;
    const { engine, release } = reached;
    const close = async (): Promise<void> => {
      await engine.close();
      await release();
    };
    const soonerMs = Math.min(SOONER_MS_MAX, drainMs * SOONER_SHARE);
    return createServing({ engine, name, drainMs: drainMs - soonerMs, close });
  };

  const forget = (id: string): Promise<Serving | undefined> | undefined => {
    const opened = known.get(id);
    known.delete(id);
    return opened;
  };

  /** Resolves when it has ended, whatever came of it: who kept it sees to what is left. */
  const retire = (opened: Promise<Serving | undefined>): void => {
    const ended = opened
      .then((serving) => serving?.retire())
      .catch(() => undefined)
      .finally(() => ending.delete(ended));
    ending.add(ended);
  };

  return {
    async engineFor(deployment) {
      const { id } = deployment;
      for (;;) {
        const opened = known.get(id) ?? open(deployment);
        known.set(id, opened);
        const serving = await opened.catch((error: unknown) => {
          if (known.get(id) === opened) known.delete(id);
          throw error;
        });
        // It was switched while it was opened.
        if (known.get(id) !== opened) continue;
        if (serving) return serving.lease();
        known.delete(id);
        throw noCapacity(deployment);
      }
    },
    switched(id) {
      const opened = forget(id);
      if (opened) retire(opened);
    },
    async close() {
      const all = [...known.keys()].flatMap((id) => forget(id) ?? []);
      for (const opened of all) retire(opened);
      for (const opened of all) (await opened.catch(() => undefined))?.cut();
      await Promise.all(ending);
    },
  };
}
