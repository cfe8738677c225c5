import { setTimeout as pause } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_PROGRAMS_MAX } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createPool } from '../../engines/pool/pool.ts';
import type { Supervised } from '../../engines/supervisor.ts';
import type { Clock } from '../../lib/clock.ts';
import type { ProgramPlan } from '../server-engines.ts';
import { inMiB } from './memory.ts';
import { lentEngine } from './lent-engine.ts';
import type { Memory } from './memory.ts';
import type { OpenedUnits, UnitsWish } from './opened-units.ts';

/** A server program of ours, which is one unit. */
export interface ProgramUnit {
  readonly engine: TextEngine;
  readonly server: Supervised<unknown>;
}

export interface ProgramUnitsNeeds {
  /** Does not start it yet. @param name For logs. */
  readonly create: (name: string) => Promise<ProgramUnit>;
  /** What is started: units of the same plan can take each other's place. */
  readonly plan: ProgramPlan;
  readonly memory: Memory;
  readonly log: Log;
  readonly clock: Clock;
  /** Between a start and the look at how much memory is left, in ms: a server takes some with its first token. */
  readonly settleMs?: number;
}

interface Shared extends ProgramUnit {
  /** Openings that have it. */
  holders: number;
  /** Memory that went with its start, in bytes; 0 where it cannot be told. */
  bytes: number;
}

/** Ours, of `settleMs`. */
const SETTLE_MS = 200;

/**
 * Opens server programs, one for each unit, behind a pool. They are started one after the other, for as long as memory holds
 * another one like the last; those that serve already are taken over and stay as they are.
 */
export function createProgramUnits() {
  const openings = new WeakMap<OpenedUnits, { readonly plan: ProgramPlan; readonly units: readonly Shared[] }>();

  return async (
    { name, units: wanted, previous }: UnitsWish,
    { create, plan, memory, log, clock, settleMs = SETTLE_MS }: ProgramUnitsNeeds,
    signal: AbortSignal,
  ): Promise<OpenedUnits> => {
    const earlier = previous && openings.get(previous);
    const kept = earlier && isDeepStrictEqual(earlier.plan, plan) ? earlier.units.slice(0, wanted) : [];
    const units: Shared[] = [...kept];
    let reason: string | undefined;
    for (const unit of kept) unit.holders++;
    try {
      while (units.length < wanted) {
        reason = lacks(units, { wanted, memory });
        if (reason !== undefined) break;
        const unit: Shared = { ...(await create(`${name} ${units.length + 1}`)), holders: 1, bytes: 0 };
        units.push(unit);
        const before = memory.availableBytes();
        const failure = await failureOf(unit, signal);
        signal.throwIfAborted();
        if (!failure) {
          await pause(settleMs, undefined, { signal });
          unit.bytes = Math.max(0, before - memory.availableBytes());
          continue;
        }
        await end(unit);
        units.pop();
        if (units.length === 0) throw failure;
        reason = `Unit ${units.length + 1} of ${wanted} does not start: ${failure.message}`;
        break;
      }
    } catch (error) {
      await Promise.all(units.map(end));
      throw error;
    }
    // The members outlive the pool where another one has taken them over.
    const members = units.map(({ engine }, at) => ({ address: `${name}-${at + 1}`, engine: lentEngine(engine) }));
    const pool = createPool({ members, log, clock });
    const opened: OpenedUnits = {
      engine: pool,
      units: units.map(({ engine }) => engine),
      isUp: ({ state }) => state === 'ready',
      ...(reason === undefined ? {} : { reason }),
      reach: { type: 'programs', plan },
      processes: units.map(({ server }) => server),
      async close() {
        await pool.close();
        await Promise.all(units.map(end));
      },
    };
    openings.set(opened, { plan, units });
    return opened;
  };
}

/** Why there is no room for another one; the first is always tried. */
function lacks(
  units: readonly Shared[],
  { wanted, memory }: { readonly wanted: number; readonly memory: Memory },
): string | undefined {
  if (units.length === 0) return undefined;
  if (units.length >= DEPLOYMENT_PROGRAMS_MAX)
    return `A deployment has at most ${DEPLOYMENT_PROGRAMS_MAX} server programs on one machine.`;
  const bytes = Math.max(...units.map((unit) => unit.bytes));
  const availableBytes = memory.availableBytes();
  if (availableBytes - DEPLOYMENT_MEMORY_RESERVE_BYTES >= bytes) return undefined;
  return (
    `Memory holds ${units.length} of ${wanted} units: one takes ${inMiB(bytes)}; ${inMiB(availableBytes)} are ` +
    `available, and ${inMiB(DEPLOYMENT_MEMORY_RESERVE_BYTES)} stay free.`
  );
}

/** Starts it. Undefined when it is up. */
async function failureOf({ engine, server }: ProgramUnit, signal: AbortSignal): Promise<ServiceError | undefined> {
  for (;;) {
    try {
      await server.ready(signal);
      await engine.model();
      return undefined;
    } catch (error) {
      // A caller waits less than a large model takes.
      if (signal.aborted || server.state !== 'starting') return ServiceError.from(error);
    }
  }
}

async function end(unit: Shared): Promise<void> {
  unit.holders--;
  if (unit.holders === 0) await unit.engine.close();
}
