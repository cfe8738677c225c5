import { besselI0 } from './bessel-i0.ts';

/** Converts the sample rate of one channel. The result does not depend on the lengths of the pushed blocks. */
export interface Resampler {
  push(samples: Float32Array): Float32Array;
  /** Returns the remaining samples at the end of the input. */
  end(): Float32Array;
}

/** Zero crossings of the kernel on each side, at the lower of the two rates. */
const ZERO_CROSSINGS = 48;
/** Beta of the Kaiser window: the stop band is attenuated by at least 80 dB. */
const KAISER_BETA = 7.86;
/** Cutoff frequency relative to half the lower rate; the transition band ends at half the lower rate. */
const CUTOFF = 0.947;
/** Maximum number of kernels. Rates that would need more use the nearest kernel. */
const KERNELS_MAX = 4_096;

/** Creates a windowed sinc resampler with one kernel per output phase. Rates are integers in Hz. */
export function createResampler({ from, to }: { readonly from: number; readonly to: number }): Resampler {
  if (from === to) return { push: (samples) => samples, end: () => new Float32Array() };
  const divisor = computeGreatestDivisor(from, to);
  const [up, down] = [to / divisor, from / divisor];
  const { kernels, half } = createKernels({ from, to, count: Math.min(up, KERNELS_MAX) });

  // Silence precedes the first sample.
  let buffer = new Float32Array(half);
  /** Position of buffer[0], counted from the first input sample. */
  let bufferStart = -half;
  let receivedCount = 0;
  let producedCount = 0;

  const produce = (isEnd: boolean): Float32Array => {
    if (isEnd) buffer = concatenate(buffer, new Float32Array(2 * half));
    const available = bufferStart + buffer.length;
    const count = isEnd ? Math.ceil((receivedCount * up) / down) - producedCount : countOutputs(available - half);
    const output = new Float32Array(Math.max(0, count));
    for (let n = 0; n < output.length; n++, producedCount++) {
      const exact = (producedCount * down) / up;
      let base = Math.floor(exact);
      // Integer arithmetic avoids drift in long recordings.
      let kernel = Math.round((((producedCount * down) % up) * kernels.length) / up);
      if (kernel === kernels.length) [base, kernel] = [base + 1, 0];
      const weights = kernels[kernel];
      if (!weights) continue;
      output[n] = computeDotProduct(weights, buffer, base - half + 1 - bufferStart);
    }
    const needed = Math.floor((producedCount * down) / up) - half;
    const dropped = Math.min(Math.max(0, needed - bufferStart), buffer.length);
    buffer = buffer.slice(dropped);
    bufferStart += dropped;
    return output;
  };

  /** Counts the outputs whose kernels end before an input position. */
  const countOutputs = (limit: number): number => Math.max(0, Math.ceil(((limit - 1) * up) / down) - producedCount);

  return {
    push(samples) {
      buffer = concatenate(buffer, samples);
      receivedCount += samples.length;
      return produce(false);
    },
    end: () => produce(true),
  };
}

interface KernelOptions {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

function createKernels({ from, to, count }: KernelOptions): {
  readonly kernels: readonly Float32Array[];
  readonly half: number;
} {
  const ratio = Math.min(1, to / from);
  const half = 2 * Math.ceil(ZERO_CROSSINGS / ratio / 2);
  const cutoff = CUTOFF * ratio;
  const kernels = Array.from({ length: count }, (_, kernel) => {
    const weights = Float64Array.from({ length: 2 * half }, (__, k) => {
      const x = k - half + 1 - kernel / count;
      const inside = 1 - (x / half) ** 2;
      if (inside <= 0) return 0;
      return cutoff * sinc(cutoff * x) * besselI0(KAISER_BETA * Math.sqrt(inside));
    });
    // Normalize each kernel, so that constant input gives the same constant output.
    const sum = weights.reduce((all, weight) => all + weight, 0);
    return Float32Array.from(weights, (weight) => weight / sum);
  });
  return { kernels, half };
}

/** Uses four independent sums, so that additions can overlap. The number of weights is a multiple of four. */
function computeDotProduct(weights: Float32Array, samples: Float32Array, start: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let k = 0, at = start; k < weights.length; k += 4, at += 4) {
    a += (weights[k] ?? 0) * (samples[at] ?? 0);
    b += (weights[k + 1] ?? 0) * (samples[at + 1] ?? 0);
    c += (weights[k + 2] ?? 0) * (samples[at + 2] ?? 0);
    d += (weights[k + 3] ?? 0) * (samples[at + 3] ?? 0);
  }
  return a + b + (c + d);
}

function concatenate(first: Float32Array, second: Float32Array): Float32Array<ArrayBuffer> {
  const both = new Float32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

const sinc = (x: number): number => (Math.abs(x) < 1e-9 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const computeGreatestDivisor = (a: number, b: number): number => (b === 0 ? a : computeGreatestDivisor(b, a % b));
