import { stat } from 'node:fs/promises';
import {
  DEPLOYMENT_ENGINE_BYTES,
  DEPLOYMENT_MEMORY_RESERVE_BYTES,
  DEPLOYMENT_MEMORY_RESERVE_PART,
  DEPLOYMENT_UNIT_BYTES,
} from '../../core/limits.ts';
import { readModelShape } from '../../weights/gguf-head.ts';

/** Of this machine. */
export interface Memory {
  /** What processes may still take, in bytes; what files hold of it and would give up is counted. */
  availableBytes(): number;
  /** So much is going to be taken by what was begun just now, and is not available any more. @returns ends that: it was taken, or never is. */
  claim(bytes: number): () => void;
}

interface MemoryFacts {
  /** Of the machine, or of what this process may have of it. */
  readonly totalBytes: number;
  readonly availableBytes: () => number;
}

/** Memory that several openings at a time take from, without seeing the same bytes free. */
export function createMemory({ totalBytes, availableBytes }: MemoryFacts): Memory {
  const claims = new Map<symbol, number>();
  const reserve = Math.max(0, totalBytes * DEPLOYMENT_MEMORY_RESERVE_PART - DEPLOYMENT_MEMORY_RESERVE_BYTES);
  return {
    availableBytes: () => [...claims.values()].reduce((left, bytes) => left - bytes, availableBytes() - reserve),
    claim(bytes) {
      const own = Symbol('claim');
      claims.set(own, bytes);
      return () => void claims.delete(own);
    },
  };
}

export interface MemoryWish {
  readonly modelFile: string;
  /** Of one unit. */
  readonly contextTokens: number;
  readonly units: number;
}

export interface MemoryEstimate {
  /** Of those wanted. */
  readonly units: number;
  /** What they take, with their engine; 0 where nobody knows. */
  readonly bytesOf: (units: number) => number;
  /** For people, where that is fewer. */
  readonly reason?: string;
}

/**
 * How many units of one process fit into memory: weights once, a full context for each. Nothing is asked of files that do not
 * say how large their contexts are: then it is tried.
 */
export async function unitsInMemory(
  { modelFile, contextTokens, units }: MemoryWish,
  memory: Memory,
): Promise<MemoryEstimate> {
  const shape = await readModelShape(modelFile);
  if (!shape) return { units, bytesOf: () => 0 };
  const { size } = await stat(modelFile);
  const tokens = Math.min(contextTokens, shape.contextTokens ?? Infinity);
  const unitBytes = shape.cacheBytesPerToken * tokens + DEPLOYMENT_UNIT_BYTES;
  const availableBytes = memory.availableBytes();
  const leftBytes = availableBytes - DEPLOYMENT_MEMORY_RESERVE_BYTES - DEPLOYMENT_ENGINE_BYTES - size;
  const held = Math.max(0, Math.min(units, Math.floor(leftBytes / unitBytes)));
  const bytesOf = (count: number): number => DEPLOYMENT_ENGINE_BYTES + size + count * unitBytes;
  if (held === units) return { units, bytesOf };
  const needs = `${inMiB(unitBytes)} for each unit's context beside ${inMiB(size + DEPLOYMENT_ENGINE_BYTES)} for the engine`;
  const has = `${inMiB(availableBytes)} are available, and ${inMiB(DEPLOYMENT_MEMORY_RESERVE_BYTES)} stay free`;
  return { units: held, bytesOf, reason: `Memory holds ${held} of ${units} units: it takes ${needs}; ${has}.` };
}

export const inMiB = (bytes: number): string => `${Math.ceil(bytes / 2 ** 20)} MiB`;
