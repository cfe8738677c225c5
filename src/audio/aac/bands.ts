/** Where the bands of scale factors begin at a sampling rate; the last number is the end of the last band. */
export interface Bands {
  readonly long: readonly number[];
  readonly short: readonly number[];
  /** Bands that noise shaping in time may reach. */
  readonly shapedLong: number;
  readonly shapedShort: number;
}

/** ISO/IEC 14496-3, table 1.18: Hz by index. */
export const SAMPLE_RATES: readonly number[] = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/** Each rate not in the table has the bands of one that is: the lowest rate, in Hz, of each index (4.5.4, table 4.82). */
const RATES_FROM: readonly number[] = [
  92_017, 75_132, 55_426, 46_009, 37_566, 27_713, 23_004, 18_783, 13_856, 11_502, 9_391,
];

/** Widths of bands, one after another, `width x count`: ISO/IEC 14496-3, tables 4.129 to 4.147. */
const edges = (widths: string): readonly number[] => {
  const all = [0];
  for (const part of widths.split(' ')) {
    const [width = 0, count = 1] = part.split('x').map(Number);
    for (let n = 0; n < count; n++) all.push((all.at(-1) ?? 0) + width);
  }
  return all;
};

const LONG_96 = edges('4x14 8x5 12x5 16x2 24 28 36 44 64x11');
const LONG_64 = edges('4x14 8x4 12x3 16x3 20 24x2 28 36 40x18');
const LONG_48 = edges('4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x19 96');
const LONG_32 = edges('4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x22');
const LONG_24 = edges('4x11 8x10 12x4 16x3 20x2 24x2 28x2 32 36x2 40 44 48 52x2 64x5');
const LONG_16 = edges('8x11 12x9 16x4 20x3 24x2 28x2 32 36 40x2 44 48 52 56 60 64x3');
const LONG_8 = edges('12x13 16x7 20x4 24x3 28x2 32 36x2 40 44 48 52 56 60 64 80');
const SHORT_64 = edges('4x6 8x3 16 28 36');
const SHORT_48 = edges('4x5 8x3 12x3 16x3');
const SHORT_24 = edges('4x7 8x3 12x2 16x2 20');
const SHORT_16 = edges('4x8 8x2 12x2 16 20x2');
const SHORT_8 = edges('4x7 8x4 12 16 20x2');

const BANDS: readonly Bands[] = [
  { long: LONG_96, short: SHORT_64, shapedLong: 31, shapedShort: 9 },
  { long: LONG_96, short: SHORT_64, shapedLong: 31, shapedShort: 9 },
  { long: LONG_64, short: SHORT_64, shapedLong: 34, shapedShort: 10 },
  { long: LONG_48, short: SHORT_48, shapedLong: 40, shapedShort: 14 },
  { long: LONG_48, short: SHORT_48, shapedLong: 42, shapedShort: 14 },
  { long: LONG_32, short: SHORT_48, shapedLong: 51, shapedShort: 14 },
  { long: LONG_24, short: SHORT_24, shapedLong: 46, shapedShort: 14 },
  { long: LONG_24, short: SHORT_24, shapedLong: 46, shapedShort: 14 },
  { long: LONG_16, short: SHORT_16, shapedLong: 42, shapedShort: 14 },
  { long: LONG_16, short: SHORT_16, shapedLong: 42, shapedShort: 14 },
  { long: LONG_16, short: SHORT_16, shapedLong: 42, shapedShort: 14 },
];
const LOWEST: Bands = { long: LONG_8, short: SHORT_8, shapedLong: 39, shapedShort: 14 };

/** @param sampleRate in Hz. */
export function bandsOf(sampleRate: number): Bands {
  const index = RATES_FROM.findIndex((from) => sampleRate >= from);
  return BANDS[index] ?? LOWEST;
}
