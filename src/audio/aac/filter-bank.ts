import { bessel } from '../bessel.ts';
import { createImdct } from '../imdct.ts';
import { EIGHT_SHORT, FRAME, LONG_START, LONG_STOP, SHORT, type WindowShape } from './window-shape.ts';

/** One channel's way from spectrum to samples of ±1: frames overlap by half. */
export type FilterBank = (spectrum: Float64Array, shape: WindowShape) => Float32Array;

/** Rising halves of windows, by length and shape. */
export interface Slopes {
  readonly long: readonly [sine: Float64Array, kaiser: Float64Array];
  readonly short: readonly [sine: Float64Array, kaiser: Float64Array];
}

/** ISO/IEC 14496-3, 4.6.11.3.2: Kaiser-Bessel derived with 4 for long windows and 6 for short ones, or a sine. */
export const createSlopes = (): Slopes => ({
  long: [sineSlope(FRAME), kaiserSlope(FRAME, 4)],
  short: [sineSlope(SHORT), kaiserSlope(SHORT, 6)],
});

/** Where short slopes begin in a long half. */
const FLAT = (FRAME - SHORT) / 2;

/** Samples of the standard are of 16 bits. */
const FULL_SCALE = 32_768;

export function createFilterBank(slopes: Slopes): FilterBank {
  const long = createImdct(2 * FRAME);
  const short = createImdct(2 * SHORT);
  const buffer = new Float64Array(2 * FRAME);
  const piece = new Float64Array(2 * SHORT);
  const overlap = new Float64Array(FRAME);
  let wasKaiser = false;

  const addShort = (spectrum: Float64Array, isKaiser: boolean): void => {
    buffer.fill(0);
    for (let window = 0; window < 8; window++) {
      short(spectrum, window * SHORT, piece);
      const rising = slopes.short[(window === 0 ? wasKaiser : isKaiser) ? 1 : 0];
      const falling = slopes.short[isKaiser ? 1 : 0];
      const to = FLAT + window * SHORT;
      for (let n = 0; n < SHORT; n++) {
        buffer[to + n] = (buffer[to + n] ?? 0) + (piece[n] ?? 0) * (rising[n] ?? 0) * 8;
        buffer[to + SHORT + n] = (piece[SHORT + n] ?? 0) * (falling[SHORT - 1 - n] ?? 0) * 8;
      }
    }
  };

  const addLong = (spectrum: Float64Array, { sequence, isKaiser }: WindowShape): void => {
    long(spectrum, 0, buffer);
    if (sequence === LONG_STOP) {
      const rising = slopes.short[wasKaiser ? 1 : 0];
      buffer.fill(0, 0, FLAT);
      for (let n = 0; n < SHORT; n++) buffer[FLAT + n] = (buffer[FLAT + n] ?? 0) * (rising[n] ?? 0);
    } else {
      const rising = slopes.long[wasKaiser ? 1 : 0];
      for (let n = 0; n < FRAME; n++) buffer[n] = (buffer[n] ?? 0) * (rising[n] ?? 0);
    }
    if (sequence === LONG_START) {
      const falling = slopes.short[isKaiser ? 1 : 0];
      const from = FRAME + FLAT;
      for (let n = 0; n < SHORT; n++) buffer[from + n] = (buffer[from + n] ?? 0) * (falling[SHORT - 1 - n] ?? 0);
      buffer.fill(0, from + SHORT);
    } else {
      const falling = slopes.long[isKaiser ? 1 : 0];
      for (let n = 0; n < FRAME; n++) buffer[FRAME + n] = (buffer[FRAME + n] ?? 0) * (falling[FRAME - 1 - n] ?? 0);
    }
  };

  return (spectrum, shape) => {
    if (shape.sequence === EIGHT_SHORT) addShort(spectrum, shape.isKaiser);
    else addLong(spectrum, shape);
    wasKaiser = shape.isKaiser;
    const samples = new Float32Array(FRAME);
    for (let n = 0; n < FRAME; n++) {
      samples[n] = ((overlap[n] ?? 0) + (buffer[n] ?? 0)) / (FRAME * FULL_SCALE);
      overlap[n] = buffer[FRAME + n] ?? 0;
    }
    return samples;
  };
}

const sineSlope = (length: number): Float64Array =>
  Float64Array.from({ length }, (_, n) => Math.sin((Math.PI * (n + 0.5)) / (2 * length)));

function kaiserSlope(length: number, alpha: number): Float64Array {
  const weights = Array.from({ length: length + 1 }, (_, n) =>
    bessel(Math.PI * alpha * Math.sqrt(1 - ((2 * n) / length - 1) ** 2)),
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
