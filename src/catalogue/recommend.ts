import type { Weights } from '../core/weights.ts';

export interface Machine {
  readonly memoryBytes: number;
  readonly cores: number;
}

/** How a set of weights would do on a machine, by rules of thumb. */
export interface Advice {
  readonly weights: Weights;
  readonly neededBytes: number;
  readonly tokensPerSecond: number;
  readonly isFitting: boolean;
  readonly isRecommended: boolean;
}

/** Measured on three models: the file, a repacked copy of it, and the contexts of four streams. */
const neededBytes = (sizeBytes: number): number => 2 * sizeBytes + 300_000_000;

/** The rest of the machine's memory stays with others. */
const MEMORY_SHARE = 0.7;

/** Measured: a token reads all weights once, and a core of an ordinary server reads this much in a second. */
const BYTES_PER_SECOND_AND_CORE = 7e9;

/** Beyond this, the memory and not the cores is the limit. */
const CORES_USEFUL_MAX = 4;

/** About as fast as people read. */
const TOKENS_PER_SECOND_MIN = 8;

/** Of those that write text. Largest first. The largest that fits and is not too slow is recommended, else the smallest there is. */
export function recommendWeights(all: readonly Weights[], { memoryBytes, cores }: Machine): readonly Advice[] {
  // One core stays free: the engine's threads wait for each other, and a busy neighbour makes all of them slow.
  const threads = Math.min(Math.max(1, cores - 1), CORES_USEFUL_MAX);
  const known = all.flatMap((weights) =>
    weights.sizeBytes && !weights.folder ? [{ weights, sizeBytes: weights.sizeBytes }] : [],
  );
  const judged = known
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .map(({ weights, sizeBytes }) => ({
      weights,
      neededBytes: neededBytes(sizeBytes),
      tokensPerSecond: (threads * BYTES_PER_SECOND_AND_CORE) / sizeBytes,
      isFitting: neededBytes(sizeBytes) <= memoryBytes * MEMORY_SHARE,
    }));
  const best =
    judged.find(({ isFitting, tokensPerSecond }) => isFitting && tokensPerSecond >= TOKENS_PER_SECOND_MIN) ??
    judged.at(-1);
  return judged.map((one) => ({ ...one, isRecommended: one === best }));
}
