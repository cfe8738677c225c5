import { bessel } from './bessel.ts';

/** Samples of one channel at another rate: in stretches of any length, out the same whatever they are. */
export interface Resampler {
  push(samples: Float32Array): Float32Array;
  /** What is left once no more come. */
  end(): Float32Array;
}

/** Zero crossings of the kernel on each side, at the lower of both rates. */
const CROSSINGS = 48;
/** Of a Kaiser window: what is above the cut is at least 80 dB down. */
const KAISER = 7.86;
/** The cut, as a part of the lower of both half rates: below it the slope ends at that rate. */
const CUT = 0.947;
/** Ours: kernels between two samples. Rates that need more get the nearest one. */
const KERNELS_MAX = 4_096;

/** A windowed sinc for each place between two samples. Rates are whole numbers of Hz. */
export function createResampler({ from, to }: { readonly from: number; readonly to: number }): Resampler {
  if (from === to) return { push: (samples) => samples, end: () => new Float32Array() };
  const shared = greatestDivisor(from, to);
  const [up, down] = [to / shared, from / shared];
  const { kernels, half } = createKernels({ from, to, count: Math.min(up, KERNELS_MAX) });

  // As if silence stood before the first sample.
  let held = new Float32Array(half);
  /** Of held[0], counted from the first sample that came. */
  let heldAt = -half;
  let taken = 0;
  let made = 0;

  const produce = (isEnd: boolean): Float32Array => {
    if (isEnd) held = joined(held, new Float32Array(2 * half));
    const available = heldAt + held.length;
    const count = isEnd ? Math.ceil((taken * up) / down) - made : countWithin(available - half);
    const output = new Float32Array(Math.max(0, count));
    for (let n = 0; n < output.length; n++, made++) {
      const exact = (made * down) / up;
      let base = Math.floor(exact);
      // The remainder in whole numbers, so that hours later it is still right.
      let kernel = Math.round((((made * down) % up) * kernels.length) / up);
      if (kernel === kernels.length) [base, kernel] = [base + 1, 0];
      const weights = kernels[kernel];
      if (!weights) continue;
      output[n] = product(weights, held, base - half + 1 - heldAt);
    }
    const needed = Math.floor((made * down) / up) - half;
    const dropped = Math.min(Math.max(0, needed - heldAt), held.length);
    held = held.slice(dropped);
    heldAt += dropped;
    return output;
  };

  /** Outputs whose kernels end before `limit`. */
  const countWithin = (limit: number): number => Math.max(0, Math.ceil(((limit - 1) * up) / down) - made);

  return {
    push(samples) {
      held = joined(held, samples);
      taken += samples.length;
      return produce(false);
    },
    end: () => produce(true),
  };
}

interface KernelFacts {
  readonly from: number;
  readonly to: number;
  readonly count: number;
}

function createKernels({ from, to, count }: KernelFacts): {
  readonly kernels: readonly Float32Array[];
  readonly half: number;
} {
  const ratio = Math.min(1, to / from);
  const half = 2 * Math.ceil(CROSSINGS / ratio / 2);
  const cut = CUT * ratio;
  const kernels = Array.from({ length: count }, (_, kernel) => {
    const weights = Float64Array.from({ length: 2 * half }, (__, k) => {
      const x = k - half + 1 - kernel / count;
      const inside = 1 - (x / half) ** 2;
      if (inside <= 0) return 0;
      return cut * sinc(cut * x) * bessel(KAISER * Math.sqrt(inside));
    });
    // Each passes a constant as it is.
    const sum = weights.reduce((all, weight) => all + weight, 0);
    return Float32Array.from(weights, (weight) => weight / sum);
  });
  return { kernels, half };
}

/** Four sums at once: each of them waits for its last addition. The number of weights is a multiple of four. */
function product(weights: Float32Array, samples: Float32Array, from: number): number {
  let [a, b, c, d] = [0, 0, 0, 0];
  for (let k = 0, at = from; k < weights.length; k += 4, at += 4) {
    a += (weights[k] ?? 0) * (samples[at] ?? 0);
    b += (weights[k + 1] ?? 0) * (samples[at + 1] ?? 0);
    c += (weights[k + 2] ?? 0) * (samples[at + 2] ?? 0);
    d += (weights[k + 3] ?? 0) * (samples[at + 3] ?? 0);
  }
  return a + b + (c + d);
}

function joined(first: Float32Array, second: Float32Array): Float32Array<ArrayBuffer> {
  const both = new Float32Array(first.length + second.length);
  both.set(first);
  both.set(second, first.length);
  return both;
}

const sinc = (x: number): number => (Math.abs(x) < 1e-9 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x));

const greatestDivisor = (a: number, b: number): number => (b === 0 ? a : greatestDivisor(b, a % b));
