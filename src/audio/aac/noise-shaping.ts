import type { BitReader } from '../bit-reader.ts';
import { damaged } from '../unreadable.ts';
import { EIGHT_SHORT, SHORT, type WindowShape } from './window-shape.ts';

/** Temporal noise shaping, ISO/IEC 14496-3, 4.6.9: the filters of each window, from the highest bands down. */
export type NoiseShaping = readonly (readonly Filter[])[];

interface Filter {
  /** In bands. */
  readonly length: number;
  readonly isDownwards: boolean;
  /** Of linear prediction, without the leading 1. */
  readonly coefficients: readonly number[];
}

/** Of the profile LC. */
const ORDER_MAX_LONG = 12;
const ORDER_MAX_SHORT = 7;

/** @throws Unreadable */
export function readNoiseShaping(bits: BitReader, isShort: boolean): NoiseShaping {
  return Array.from({ length: isShort ? 8 : 1 }, () => {
    const count = bits.read(isShort ? 1 : 2);
    const resolution = count > 0 ? 3 + bits.read(1) : 0;
    return Array.from({ length: count }, () => readFilter(bits, isShort, resolution));
  });
}

function readFilter(bits: BitReader, isShort: boolean, resolution: number): Filter {
  const length = bits.read(isShort ? 4 : 6);
  const order = bits.read(isShort ? 3 : 5);
  if (order > (isShort ? ORDER_MAX_SHORT : ORDER_MAX_LONG)) throw damaged('has a frame with a filter that is too long');
  if (order === 0) return { length, isDownwards: false, coefficients: [] };
  const isDownwards = bits.read(1) === 1;
  const width = resolution - bits.read(1);
  const half = 1 << (resolution - 1);
  const reflections = Array.from({ length: order }, () => {
    const raw = bits.read(width);
    const value = raw >= 1 << (width - 1) ? raw - (1 << width) : raw;
    return Math.sin((value * Math.PI) / 2 / (value >= 0 ? half - 0.5 : half + 0.5));
  });
  return { length, isDownwards, coefficients: toPrediction(reflections) };
}

/** Reflection coefficients to those of prediction, one order after another. */
function toPrediction(reflections: readonly number[]): readonly number[] {
  let prediction: number[] = [];
  for (const reflection of reflections) {
    const before = prediction;
    prediction = before.map((value, at) => value + reflection * (before[before.length - 1 - at] ?? 0));
    prediction.push(reflection);
  }
  return prediction;
}

/** Runs the filters over the spectrum, in place. */
export function shapeNoise(spectrum: Float64Array, shaping: NoiseShaping, shape: WindowShape): void {
  const bandsMax = Math.min(shape.shapedBands, shape.bandCount);
  for (const [window, filters] of shaping.entries()) {
    const offset = shape.sequence === EIGHT_SHORT ? window * SHORT : 0;
    let bottom = shape.edges.length - 1;
    for (const { length, isDownwards, coefficients } of filters) {
      const top = bottom;
      bottom = Math.max(top - length, 0);
      const from = offset + (shape.edges[Math.min(bottom, bandsMax)] ?? 0);
      const to = offset + (shape.edges[Math.min(top, bandsMax)] ?? 0);
      const [first, step] = isDownwards ? [to - 1, -1] : [from, 1];
      for (let n = 0; n < to - from; n++) {
        const at = first + n * step;
        let value = spectrum[at] ?? 0;
        for (let k = 0; k < Math.min(coefficients.length, n); k++) {
          value -= (coefficients[k] ?? 0) * (spectrum[at - (k + 1) * step] ?? 0);
        }
        spectrum[at] = value;
      }
    }
  }
}
