import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_PROGRAMS_MAX } from './limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createPool } from '../../engines/pool/pool.ts';
import type { SupervisedProcess } from '../../engines/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ProgramPlan } from '../server-engines.ts';
import { formatMiB, type MemoryBudget } from './memory-budget.ts';
import { createEngineView } from './engine-view.ts';
import type { DeploymentUnits, UnitsRequest } from './deployment-units.ts';

/** A server program that is one unit. */
export interface ProgramUnit {
  readonly engine: TextEngine;
  readonly server: SupervisedProcess<unknown>;
}

export interface ProgramUnitsDeps {
  /** Creates the unit without starting it. @param name Name for logs. */
  readonly create: (name: string) => Promise<ProgramUnit>;
  /** Command and settings of the program; units with equal plans are interchangeable. */
  readonly plan: ProgramPlan;
  readonly memory: MemoryBudget;
  readonly log: Log;
  readonly clock: Clock;
  /** Delay after a start before free memory is measured, in ms: a server allocates more with its first token. */
  readonly settleMs?: number;
}

interface SharedProgram extends ProgramUnit {
  /** Number of openings that use the program. */
  references: number;
  /** Decrease of free memory during its start, in bytes; 0 when unknown. */
  bytes: number;
}

/** Default of `settleMs`. */
const SETTLE_MS = 200;

/**
 * Creates the function that opens server programs, one for each unit, behind a pool. It starts them one after another while
 * memory suffices for another like the largest, and takes over those that already serve.
 */
export function createOpenProgramUnits() {
  const openings = new WeakMap<
    DeploymentUnits,
    { readonly plan: ProgramPlan; readonly units: readonly SharedProgram[] }
  >();

  return async (
    { name, units: wanted, previous }: UnitsRequest,
    { create, plan, memory, log, clock, settleMs = SETTLE_MS }: ProgramUnitsDeps,
    signal: AbortSignal,
  ): Promise<DeploymentUnits> => {
    const earlier = previous && openings.get(previous);
    const reused = earlier && isDeepStrictEqual(earlier.plan, plan) ? earlier.units.slice(0, wanted) : [];
    const units: SharedProgram[] = [...reused];
    let reason: string | undefined;
    for (const unit of reused) unit.references++;
    try {
      while (units.length < wanted) {
        reason = explainNoCapacity(units, { wanted, memory });
        if (reason !== undefined) break;
        const unit: SharedProgram = { ...(await create(`${name} ${units.length + 1}`)), references: 1, bytes: 0 };
        units.push(unit);
        const before = memory.availableBytes();
        const failure = await startProgram(unit, signal);
        signal.throwIfAborted();
        if (!failure) {
          await pause(settleMs, undefined, { signal });
          unit.bytes = Math.max(0, before - memory.availableBytes());
          continue;
        }
        await releaseProgram(unit);
        units.pop();
        if (units.length === 0) throw failure;
        reason = `Unit ${units.length + 1} of ${wanted} fails to start: ${failure.message}`;
        break;
      }
    } catch (error) {
      await Promise.all(units.map(releaseProgram));
      throw error;
    }
    // Members can outlive the pool, because another opening may take them over; so the pool must not close them.
    const members = units.map(({ engine }, at) => ({ address: `${name}-${at + 1}`, engine: createEngineView(engine) }));
    const pool = createPool({ endpoints: members, log, clock });
    const opened: DeploymentUnits = {
      engine: pool,
      units: units.map(({ engine }) => engine),
      isUp: ({ state }) => state === 'ready',
      ...(reason === undefined ? {} : { reason }),
      connection: { type: 'programs', plan },
      processes: units.map(({ server }) => server),
      async close() {
        await pool.close();
        await Promise.all(units.map(releaseProgram));
      },
    };
    openings.set(opened, { plan, units });
    return opened;
  };
}

/** Returns why no further program fits; undefined when one does. The first is always tried. */
function explainNoCapacity(
  units: readonly SharedProgram[],
  { wanted, memory }: { readonly wanted: number; readonly memory: MemoryBudget },
): string | undefined {
  if (units.length === 0) return undefined;
  if (units.length >= DEPLOYMENT_PROGRAMS_MAX)
    return `A deployment runs at most ${DEPLOYMENT_PROGRAMS_MAX} server programs on one machine.`;
  const bytes = Math.max(...units.map((unit) => unit.bytes));
  const availableBytes = memory.availableBytes();
  if (availableBytes - DEPLOYMENT_MEMORY_RESERVE_BYTES >= bytes) return undefined;
  return (
    `Memory suffices for ${units.length} of ${wanted} units: each needs ${formatMiB(bytes)}; ${formatMiB(availableBytes)} are ` +
    `available, and ${formatMiB(DEPLOYMENT_MEMORY_RESERVE_BYTES)} stay free.`
  );
}

/** Starts the program. Returns undefined when it is up, else the error. */
async function startProgram({ engine, server }: ProgramUnit, signal: AbortSignal): Promise<ServiceError | undefined> {
  for (;;) {
    try {
      await server.waitUntilReady(signal);
      await engine.loadModel();
      return undefined;
    } catch (error) {
      // The wait of a single call can be shorter than the start of a large model, so it repeats while the program starts.
      if (signal.aborted || server.state !== 'starting') return ServiceError.from(error);
    }
  }
}

async function releaseProgram(unit: SharedProgram): Promise<void> {
  unit.references--;
  if (unit.references === 0) await unit.engine.close();
}
