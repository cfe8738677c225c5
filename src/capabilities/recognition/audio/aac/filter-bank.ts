import { besselI0 } from '../bessel-i0.ts';
import { createImdct } from '../imdct.ts';
import {
  EIGHT_SHORT_SEQUENCE,
  FRAME_SAMPLES,
  LONG_START_SEQUENCE,
  LONG_STOP_SEQUENCE,
  SHORT_WINDOW_SAMPLES,
  type IcsInfo,
} from './ics-info.ts';

/** Converts spectra of one channel to samples of ±1; consecutive frames overlap by half. */
export type FilterBank = (spectrum: Float64Array, shape: IcsInfo) => Float32Array;

/** Rising window halves, by length and window shape. */
export interface WindowSlopes {
  readonly long: readonly [sine: Float64Array, kaiser: Float64Array];
  readonly short: readonly [sine: Float64Array, kaiser: Float64Array];
}

/** Creates sine slopes and Kaiser-Bessel derived slopes, with alpha 4 for long and 6 for short windows (4.6.11.3.2). */
export const createWindowSlopes = (): WindowSlopes => ({
  long: [createSineSlope(FRAME_SAMPLES), createKaiserSlope(FRAME_SAMPLES, 4)],
  short: [createSineSlope(SHORT_WINDOW_SAMPLES), createKaiserSlope(SHORT_WINDOW_SAMPLES, 6)],
});

/** Offset of a short slope in a long window half. */
const SHORT_SLOPE_OFFSET = (FRAME_SAMPLES - SHORT_WINDOW_SAMPLES) / 2;

/** The standard defines samples of 16 bits. */
const FULL_SCALE = 32_768;

export function createFilterBank(slopes: WindowSlopes): FilterBank {
  const long = createImdct(2 * FRAME_SAMPLES);
  const short = createImdct(2 * SHORT_WINDOW_SAMPLES);
  const buffer = new Float64Array(2 * FRAME_SAMPLES);
  const shortWindow = new Float64Array(2 * SHORT_WINDOW_SAMPLES);
  const overlap = new Float64Array(FRAME_SAMPLES);
  let wasKbd = false;

  const synthesizeShort = (spectrum: Float64Array, isKbd: boolean): void => {
    buffer.fill(0);
    for (let window = 0; window < 8; window++) {
      short(spectrum, window * SHORT_WINDOW_SAMPLES, shortWindow);
      const rising = slopes.short[(window === 0 ? wasKbd : isKbd) ? 1 : 0];
      const falling = slopes.short[isKbd ? 1 : 0];
      const to = SHORT_SLOPE_OFFSET + window * SHORT_WINDOW_SAMPLES;
      for (let n = 0; n < SHORT_WINDOW_SAMPLES; n++) {
        buffer[to + n] = (buffer[to + n] ?? 0) + (shortWindow[n] ?? 0) * (rising[n] ?? 0) * 8;
        buffer[to + SHORT_WINDOW_SAMPLES + n] =
          (shortWindow[SHORT_WINDOW_SAMPLES + n] ?? 0) * (falling[SHORT_WINDOW_SAMPLES - 1 - n] ?? 0) * 8;
      }
    }
  };

  const synthesizeLong = (spectrum: Float64Array, { windowSequence, isKbd }: IcsInfo): void => {
    long(spectrum, 0, buffer);
    if (windowSequence === LONG_STOP_SEQUENCE) {
      const rising = slopes.short[wasKbd ? 1 : 0];
      buffer.fill(0, 0, SHORT_SLOPE_OFFSET);
      for (let n = 0; n < SHORT_WINDOW_SAMPLES; n++)
        buffer[SHORT_SLOPE_OFFSET + n] = (buffer[SHORT_SLOPE_OFFSET + n] ?? 0) * (rising[n] ?? 0);
    } else {
      const rising = slopes.long[wasKbd ? 1 : 0];
      for (let n = 0; n < FRAME_SAMPLES; n++) buffer[n] = (buffer[n] ?? 0) * (rising[n] ?? 0);
    }
    if (windowSequence === LONG_START_SEQUENCE) {
      const falling = slopes.short[isKbd ? 1 : 0];
      const from = FRAME_SAMPLES + SHORT_SLOPE_OFFSET;
      for (let n = 0; n < SHORT_WINDOW_SAMPLES; n++)
        buffer[from + n] = (buffer[from + n] ?? 0) * (falling[SHORT_WINDOW_SAMPLES - 1 - n] ?? 0);
      buffer.fill(0, from + SHORT_WINDOW_SAMPLES);
    } else {
      const falling = slopes.long[isKbd ? 1 : 0];
      for (let n = 0; n < FRAME_SAMPLES; n++)
        buffer[FRAME_SAMPLES + n] = (buffer[FRAME_SAMPLES + n] ?? 0) * (falling[FRAME_SAMPLES - 1 - n] ?? 0);
    }
  };

  return (spectrum, ics) => {
    if (ics.windowSequence === EIGHT_SHORT_SEQUENCE) synthesizeShort(spectrum, ics.isKbd);
    else synthesizeLong(spectrum, ics);
    wasKbd = ics.isKbd;
    const samples = new Float32Array(FRAME_SAMPLES);
    for (let n = 0; n < FRAME_SAMPLES; n++) {
      samples[n] = ((overlap[n] ?? 0) + (buffer[n] ?? 0)) / (FRAME_SAMPLES * FULL_SCALE);
      overlap[n] = buffer[FRAME_SAMPLES + n] ?? 0;
    }
    return samples;
  };
}

const createSineSlope = (length: number): Float64Array =>
  Float64Array.from({ length }, (_, n) => Math.sin((Math.PI * (n + 0.5)) / (2 * length)));

function createKaiserSlope(length: number, alpha: number): Float64Array {
  const weights = Array.from({ length: length + 1 }, (_, n) =>
    besselI0(Math.PI * alpha * Math.sqrt(1 - ((2 * n) / length - 1) ** 2)),
  );
  const whole = weights.reduce((sum, weight) => sum + weight, 0);
  const slope = new Float64Array(length);
  let sum = 0;
  for (let n = 0; n < length; n++) {
    sum += weights[n] ?? 0;
    slope[n] = Math.sqrt(sum / whole);
  }
  return slope;
}
