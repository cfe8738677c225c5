import type { Weights } from '../core/weights.ts';

export interface MachineResources {
  readonly memoryBytes: number;
  readonly cores: number;
}

/** Estimated behavior of a set of weights on a machine. */
export interface WeightsAdvice {
  readonly weights: Weights;
  readonly neededBytes: number;
  readonly tokensPerSecond: number;
  readonly isFitting: boolean;
  readonly isRecommended: boolean;
}

/**
 * Estimates the memory for the file, a repacked copy of it, and the contexts of four streams. Measured with three
 * models.
 */
const estimateNeededBytes = (sizeBytes: number): number => 2 * sizeBytes + 300_000_000;

/** Share of the machine's memory that weights may use. */
const MEMORY_SHARE = 0.7;

/** Bytes per second that a core of an ordinary server reads; each token reads all weights once. Measured. */
const BYTES_PER_SECOND_AND_CORE = 7e9;

/** Number of cores from which memory bandwidth is the bottleneck. */
const CORES_USEFUL_MAX = 4;

/** About the speed at which people read. */
const TOKENS_PER_SECOND_MIN = 8;

/**
 * Assesses all weights of text models, largest first. Recommends the largest that fit and are fast enough, else the
 * smallest.
 */
export function recommendWeights(
  all: readonly Weights[],
  { memoryBytes, cores }: MachineResources,
): readonly WeightsAdvice[] {
  // One core stays free: the engine's threads wait for each other, so other load on one core slows all of them.
  const threads = Math.min(Math.max(1, cores - 1), CORES_USEFUL_MAX);
  const known = all.flatMap((weights) =>
    weights.sizeBytes && !weights.folder ? [{ weights, sizeBytes: weights.sizeBytes }] : [],
  );
  const assessed = known
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .map(({ weights, sizeBytes }) => ({
      weights,
      neededBytes: estimateNeededBytes(sizeBytes),
      tokensPerSecond: (threads * BYTES_PER_SECOND_AND_CORE) / sizeBytes,
      isFitting: estimateNeededBytes(sizeBytes) <= memoryBytes * MEMORY_SHARE,
    }));
  const best =
    assessed.find(({ isFitting, tokensPerSecond }) => isFitting && tokensPerSecond >= TOKENS_PER_SECOND_MIN) ??
    assessed.at(-1);
  return assessed.map((one) => ({ ...one, isRecommended: one === best }));
}
