import { stat } from 'node:fs/promises';
import { listPartFiles } from '../../core/split-model-file.ts';
import {
  DEPLOYMENT_ENGINE_BYTES,
  DEPLOYMENT_MEMORY_RESERVE_BYTES,
  DEPLOYMENT_MEMORY_RESERVE_SHARE,
  DEPLOYMENT_UNIT_BYTES,
} from './limits.ts';
import { readModelShape } from '../../weights/read-model-shape.ts';

/** Memory of this machine that engines may take. */
export interface MemoryBudget {
  /** Returns the free memory in bytes, including file caches that the system would give up. */
  availableBytes(): number;
  /**
   * Reserves memory for an engine that is starting.
   * @returns a function that ends the reservation: the engine has allocated the memory, or never will.
   */
  reserveBytes(bytes: number): () => void;
}

interface SystemMemory {
  /** Memory of the machine, or of the container that this process runs in. */
  readonly totalBytes: number;
  readonly availableBytes: () => number;
}

/** Creates a budget that lets several engines start at once without counting the same free bytes twice. */
export function createMemoryBudget({ totalBytes, availableBytes }: SystemMemory): MemoryBudget {
  const reservations = new Map<symbol, number>();
  const alwaysFreeBytes = Math.max(0, totalBytes * DEPLOYMENT_MEMORY_RESERVE_SHARE - DEPLOYMENT_MEMORY_RESERVE_BYTES);
  return {
    availableBytes: () =>
      [...reservations.values()].reduce((left, bytes) => left - bytes, availableBytes() - alwaysFreeBytes),
    reserveBytes(bytes) {
      const reservation = Symbol('claim');
      reservations.set(reservation, bytes);
      return () => void reservations.delete(reservation);
    },
  };
}

export interface MemoryQuery {
  readonly modelFile: string;
  /** Context length of one unit. */
  readonly contextTokens: number;
  readonly units: number;
}

export interface MemoryEstimate {
  /** Number of units that fit, at most the requested number. */
  readonly units: number;
  /** Returns the memory of so many units and their engine process, in bytes; 0 when the model file does not tell. */
  readonly estimateBytes: (units: number) => number;
  /** Explanation for the operator when fewer units fit than requested. */
  readonly reason?: string;
}

/**
 * Estimates how many units of one process fit into memory: the weights once, and a full context for each unit. Returns the
 * requested number when the model file does not tell how large its contexts are.
 */
export async function estimateUnits(
  { modelFile, contextTokens, units }: MemoryQuery,
  memory: MemoryBudget,
): Promise<MemoryEstimate> {
  const shape = await readModelShape(modelFile);
  if (!shape) return { units, estimateBytes: () => 0 };
  const sizes = await Promise.all(listPartFiles(modelFile).map(async (file) => (await stat(file)).size));
  const size = sizes.reduce((sum, each) => sum + each, 0);
  const tokens = Math.min(contextTokens, shape.contextTokens ?? Infinity);
  const unitBytes = shape.cacheBytesPerToken * tokens + DEPLOYMENT_UNIT_BYTES;
  const availableBytes = memory.availableBytes();
  const leftBytes = availableBytes - DEPLOYMENT_MEMORY_RESERVE_BYTES - DEPLOYMENT_ENGINE_BYTES - size;
  const fittingUnits = Math.max(0, Math.min(units, Math.floor(leftBytes / unitBytes)));
  const estimateBytes = (count: number): number => DEPLOYMENT_ENGINE_BYTES + size + count * unitBytes;
  if (fittingUnits === units) return { units, estimateBytes };
  const required = `${formatMiB(unitBytes)} for each unit's context beside ${formatMiB(size + DEPLOYMENT_ENGINE_BYTES)} for the engine`;
  const availability = `${formatMiB(availableBytes)} are available, and ${formatMiB(DEPLOYMENT_MEMORY_RESERVE_BYTES)} stay free`;
  return {
    units: fittingUnits,
    estimateBytes,
    reason: `Memory suffices for ${fittingUnits} of ${units} units: they need ${required}; ${availability}.`,
  };
}

export const formatMiB = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
