import type { Weights } from '../core/weights.ts';

export interface Gpu {
  readonly name: string;
  readonly memoryBytes: number;
}

export interface MachineResources {
  readonly memoryBytes: number;
  readonly cores: number;
  /** Bytes per second that one core reads from memory. */
  readonly coreBytesPerSecond: number;
  readonly gpus: readonly Gpu[];
}

/** Context that the model is to serve. */
export interface ServedContext {
  /** Tokens of prompt and answer together, of each sequence. */
  readonly contextTokens: number;
  readonly sequences: number;
}

/** Estimated behavior of a set of weights on a machine. */
export interface WeightsAdvice {
  readonly weights: Weights;
  readonly neededBytes: number;
  readonly tokensPerSecond: number;
  /** Device that holds the weights with their context; undefined: they fit nowhere. */
  readonly device: 'gpu' | 'cpu' | undefined;
  readonly isRecommended: boolean;
}

/** Memory of the engine besides weights and context, in bytes, on a processor and on a GPU. The first is measured. */
const CPU_ENGINE_BYTES = 300_000_000;
const GPU_ENGINE_BYTES = 1_000_000_000;

/** Share of the machine's memory that the engine may use; other programs need the rest. */
const MEMORY_SHARE = 0.7;

/** Share of the GPU's memory that the engine may use; drivers and the display need the rest. */
const GPU_MEMORY_SHARE = 0.95;

/** Number of cores from which memory bandwidth is the bottleneck. */
const CORES_USEFUL_MAX = 4;

/**
 * Times per second that a GPU reads all of its own memory. A low value: an RTX 4060 has 34, an RTX A6000 16 and an H100 42,
 * by their data sheets.
 */
const GPU_READS_PER_SECOND = 15;

/** Speed at which people read, about. */
const TOKENS_PER_SECOND_MIN = 8;

/** Estimates the context bytes per token of weights whose shape is unknown, as of real models from 4B to 32B. */
const estimateCacheBytes = (sizeBytes: number): number => 80_000 + sizeBytes * 10e-6;

/**
 * Assesses all weights of text models, largest first. Recommends the largest that fit, are fast enough and were trained for
 * the context, those that call tools before others; else the largest that fit, else the smallest.
 */
export function recommendWeights(
  all: readonly Weights[],
  machine: MachineResources,
  served: ServedContext,
): readonly WeightsAdvice[] {
  const assessed = all
    .flatMap((weights) => (weights.sizeBytes && !weights.folder ? [{ weights, sizeBytes: weights.sizeBytes }] : []))
    .toSorted((a, b) => b.sizeBytes - a.sizeBytes)
    .map(({ weights, sizeBytes }) => assess(weights, sizeBytes, machine, served));
  const usable = assessed.filter(
    ({ device, tokensPerSecond }) => device !== undefined && tokensPerSecond >= TOKENS_PER_SECOND_MIN,
  );
  const servesContext = ({ weights }: Assessment): boolean => weights.contextTokensMax >= served.contextTokens;
  const best =
    usable.find((one) => one.weights.hasTools && servesContext(one)) ??
    usable.find(servesContext) ??
    usable[0] ??
    assessed.at(-1);
  return assessed.map((one) => ({ ...one, isRecommended: one === best }));
}

/** Returns whether weights of the size fit the machine together with the context, as far as the size tells. */
export function fitsMachine(sizeBytes: number, machine: MachineResources, served: ServedContext): boolean {
  const weights = { id: '', licence: '', sources: [], contextTokensMax: served.contextTokens };
  return assess(weights, sizeBytes, machine, served).device !== undefined;
}

type Assessment = Omit<WeightsAdvice, 'isRecommended'>;

function assess(
  weights: Weights,
  sizeBytes: number,
  { memoryBytes, cores, coreBytesPerSecond, gpus }: MachineResources,
  { contextTokens, sequences }: ServedContext,
): Assessment {
  const cacheBytesPerToken = weights.cacheBytesPerToken ?? estimateCacheBytes(sizeBytes);
  const cacheBytes = cacheBytesPerToken * sequences * Math.min(contextTokens, weights.contextTokensMax);
  const readBytes = sizeBytes * (weights.activeShare ?? 1);

  // The engine spreads the layers over all GPUs.
  const gpuBytes = gpus.reduce((sum, gpu) => sum + gpu.memoryBytes, 0) * GPU_MEMORY_SHARE;
  const gpuNeededBytes = sizeBytes + cacheBytes + GPU_ENGINE_BYTES;
  if (gpuNeededBytes <= gpuBytes) {
    const largestBytes = Math.max(...gpus.map((gpu) => gpu.memoryBytes));
    const tokensPerSecond = (GPU_READS_PER_SECOND * largestBytes) / readBytes;
    return { weights, neededBytes: gpuNeededBytes, tokensPerSecond, device: 'gpu' };
  }
  // One core stays free: the engine's threads wait for each other, so other load on one core slows all of them.
  const threads = Math.min(Math.max(1, cores - 1), CORES_USEFUL_MAX);
  // The engine reads the file and keeps a repacked copy of it.
  const neededBytes = 2 * sizeBytes + cacheBytes + CPU_ENGINE_BYTES;
  const isFitting = neededBytes <= memoryBytes * MEMORY_SHARE;
  return {
    weights,
    neededBytes: isFitting || gpus.length === 0 ? neededBytes : gpuNeededBytes,
    tokensPerSecond: (threads * coreBytesPerSecond) / readBytes,
    device: isFitting ? 'cpu' : undefined,
  };
}
