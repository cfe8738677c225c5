import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';

/** Turns audio of one rate into that of speech, however it is cut into blocks. */
export interface Resampler {
  push(block: Float32Array): Float32Array;
  /** What is left when nothing comes any more. */
  finish(): Float32Array;
}

/** Zero crossings of the sinc on each side: what is above half of the lower rate is gone, but for what is close to it. */
const CROSSINGS = 16;

/** @param rate Samples a second that come in. */
export function createResampler(rate: number): Resampler {
  if (rate === SPEECH_SAMPLE_RATE) return { push: (block) => block, finish: () => new Float32Array(0) };
  const divisor = commonDivisor(rate, SPEECH_SAMPLE_RATE);
  const [step, phases] = [rate / divisor, SPEECH_SAMPLE_RATE / divisor];
  const cutoff = Math.min(1, SPEECH_SAMPLE_RATE / rate);
  const half = Math.ceil(CROSSINGS / cutoff);
  /** Weights by the place between two samples; made when they are needed first. */
  const kernels: (Float32Array | undefined)[] = [];
  const kernelOf = (phase: number): Float32Array =>
    (kernels[phase] ??= kernel({ half, cutoff, shift: phase / phases }));

  /** Samples from `begin` on, counted from the first that came; silence is before it. */
  let held = new Float32Array(half);
  let begin = -half;
  let received = 0;
  let made = 0;

  const make = (available: number): Float32Array => {
    const out: number[] = [];
    for (;;) {
      const position = made * step;
      const at = Math.floor(position / phases);
      if (at + half >= available) break;
      const weights = kernelOf(position % phases);
      let sum = 0;
      const first = at - half + 1 - begin;
      for (let tap = 0; tap < weights.length; tap += 1) sum += (weights[tap] ?? 0) * (held[first + tap] ?? 0);
      out.push(sum);
      made += 1;
    }
    const keepFrom = Math.max(begin, Math.floor((made * step) / phases) - half + 1);
    held = held.slice(keepFrom - begin);
    begin = keepFrom;
    return Float32Array.from(out);
  };

  return {
    push(block) {
      const all = new Float32Array(held.length + block.length);
      all.set(held);
      all.set(block, held.length);
      held = all;
      received += block.length;
      return make(received);
    },
    finish() {
      const wanted = Math.ceil((received * phases) / step);
      const all = new Float32Array(held.length + 2 * half);
      all.set(held);
      held = all;
      const before = made;
      return make(received + 2 * half).subarray(0, wanted - before);
    },
  };
}

function kernel({
  half,
  cutoff,
  shift,
}: {
  readonly half: number;
  readonly cutoff: number;
  readonly shift: number;
}): Float32Array {
  const weights = Float32Array.from({ length: 2 * half }, (_, tap) => {
    const distance = tap - half + 1 - shift;
    const x = distance * cutoff;
    const sinc = x === 0 ? 1 : Math.sin(Math.PI * x) / (Math.PI * x);
    // Hann: what is cut off of the sinc would ring otherwise.
    const window = Math.abs(distance) >= half ? 0 : 0.5 + 0.5 * Math.cos((Math.PI * distance) / half);
    return sinc * window * cutoff;
  });
  // A level stays what it was.
  const sum = weights.reduce((total, each) => total + each, 0);
  return weights.map((each) => each / sum);
}

const commonDivisor = (a: number, b: number): number => (b === 0 ? a : commonDivisor(b, a % b));
