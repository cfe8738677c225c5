import type { BitReader } from '../bit-reader.ts';
import { createDamagedError } from '../audio-decoding-error.ts';
import { EIGHT_SHORT_SEQUENCE, SHORT_WINDOW_SAMPLES, type IcsInfo } from './ics-info.ts';

/** Temporal noise shaping (ISO/IEC 14496-3, 4.6.9): filters of each window, from the highest bands downwards. */
export type TnsData = readonly (readonly TnsFilter[])[];

interface TnsFilter {
  /** Length in bands. */
  readonly length: number;
  readonly isDownwards: boolean;
  /** Linear prediction coefficients without the leading 1. */
  readonly coefficients: readonly number[];
}

/** Maximum filter orders of AAC LC. */
const TNS_ORDER_MAX_LONG = 12;
const TNS_ORDER_MAX_SHORT = 7;

/** Reads TNS data. @throws AudioDecodingError */
export function readTnsData(bits: BitReader, isShort: boolean): TnsData {
  return Array.from({ length: isShort ? 8 : 1 }, () => {
    const count = bits.read(isShort ? 1 : 2);
    const resolution = count > 0 ? 3 + bits.read(1) : 0;
    return Array.from({ length: count }, () => readFilter(bits, isShort, resolution));
  });
}

function readFilter(bits: BitReader, isShort: boolean, resolution: number): TnsFilter {
  const length = bits.read(isShort ? 4 : 6);
  const order = bits.read(isShort ? 3 : 5);
  if (order > (isShort ? TNS_ORDER_MAX_SHORT : TNS_ORDER_MAX_LONG))
    throw createDamagedError('has a frame with a TNS filter of too high an order');
  if (order === 0) return { length, isDownwards: false, coefficients: [] };
  const isDownwards = bits.read(1) === 1;
  const width = resolution - bits.read(1);
  const half = 1 << (resolution - 1);
  const reflections = Array.from({ length: order }, () => {
    const raw = bits.read(width);
    const value = raw >= 1 << (width - 1) ? raw - (1 << width) : raw;
    return Math.sin((value * Math.PI) / 2 / (value >= 0 ? half - 0.5 : half + 0.5));
  });
  return { length, isDownwards, coefficients: toPredictionCoefficients(reflections) };
}

/** Converts reflection coefficients to prediction coefficients. */
function toPredictionCoefficients(reflections: readonly number[]): readonly number[] {
  let prediction: number[] = [];
  for (const reflection of reflections) {
    const before = prediction;
    prediction = before.map((value, at) => value + reflection * (before[before.length - 1 - at] ?? 0));
    prediction.push(reflection);
  }
  return prediction;
}

/** Applies the filters to the spectrum in place. */
export function applyTns(spectrum: Float64Array, tns: TnsData, ics: IcsInfo): void {
  const bandsMax = Math.min(ics.tnsBands, ics.bandCount);
  for (const [window, filters] of tns.entries()) {
    const offset = ics.windowSequence === EIGHT_SHORT_SEQUENCE ? window * SHORT_WINDOW_SAMPLES : 0;
    let bottom = ics.edges.length - 1;
    for (const { length, isDownwards, coefficients } of filters) {
      const top = bottom;
      bottom = Math.max(top - length, 0);
      const from = offset + (ics.edges[Math.min(bottom, bandsMax)] ?? 0);
      const to = offset + (ics.edges[Math.min(top, bandsMax)] ?? 0);
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
