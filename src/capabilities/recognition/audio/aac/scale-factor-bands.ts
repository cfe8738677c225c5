/** Scale factor bands of a sampling rate: the start of each band, and the end of the last one. */
export interface ScaleFactorBands {
  readonly long: readonly number[];
  readonly short: readonly number[];
  /** Number of bands that TNS may process. */
  readonly tnsBandsLong: number;
  readonly tnsBandsShort: number;
}

/** Sampling rates in Hz by index (ISO/IEC 14496-3, table 1.18). */
export const SAMPLE_RATES: readonly number[] = [
  96_000, 88_200, 64_000, 48_000, 44_100, 32_000, 24_000, 22_050, 16_000, 12_000, 11_025, 8_000, 7_350,
];

/** Lowest sampling rate in Hz that uses the bands of each index (ISO/IEC 14496-3, 4.5.4, table 4.82). */
const RATE_LIMITS: readonly number[] = [
  92_017, 75_132, 55_426, 46_009, 37_566, 27_713, 23_004, 18_783, 13_856, 11_502, 9_391,
];

/** Parses band widths, written as `width x count` (ISO/IEC 14496-3, tables 4.129 to 4.147), to band edges. */
const parseWidths = (widths: string): readonly number[] => {
  const all = [0];
  for (const part of widths.split(' ')) {
    const [width = 0, count = 1] = part.split('x').map(Number);
    for (let n = 0; n < count; n++) all.push((all.at(-1) ?? 0) + width);
  }
  return all;
};

const LONG_96 = parseWidths('4x14 8x5 12x5 16x2 24 28 36 44 64x11');
const LONG_64 = parseWidths('4x14 8x4 12x3 16x3 20 24x2 28 36 40x18');
const LONG_48 = parseWidths('4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x19 96');
const LONG_32 = parseWidths('4x10 8x7 12x4 16x2 20x2 24x2 28x2 32x22');
const LONG_24 = parseWidths('4x11 8x10 12x4 16x3 20x2 24x2 28x2 32 36x2 40 44 48 52x2 64x5');
const LONG_16 = parseWidths('8x11 12x9 16x4 20x3 24x2 28x2 32 36 40x2 44 48 52 56 60 64x3');
const LONG_8 = parseWidths('12x13 16x7 20x4 24x3 28x2 32 36x2 40 44 48 52 56 60 64 80');
const SHORT_64 = parseWidths('4x6 8x3 16 28 36');
const SHORT_48 = parseWidths('4x5 8x3 12x3 16x3');
const SHORT_24 = parseWidths('4x7 8x3 12x2 16x2 20');
const SHORT_16 = parseWidths('4x8 8x2 12x2 16 20x2');
const SHORT_8 = parseWidths('4x7 8x4 12 16 20x2');

const BANDS: readonly ScaleFactorBands[] = [
  { long: LONG_96, short: SHORT_64, tnsBandsLong: 31, tnsBandsShort: 9 },
  { long: LONG_96, short: SHORT_64, tnsBandsLong: 31, tnsBandsShort: 9 },
  { long: LONG_64, short: SHORT_64, tnsBandsLong: 34, tnsBandsShort: 10 },
  { long: LONG_48, short: SHORT_48, tnsBandsLong: 40, tnsBandsShort: 14 },
  { long: LONG_48, short: SHORT_48, tnsBandsLong: 42, tnsBandsShort: 14 },
  { long: LONG_32, short: SHORT_48, tnsBandsLong: 51, tnsBandsShort: 14 },
  { long: LONG_24, short: SHORT_24, tnsBandsLong: 46, tnsBandsShort: 14 },
  { long: LONG_24, short: SHORT_24, tnsBandsLong: 46, tnsBandsShort: 14 },
  { long: LONG_16, short: SHORT_16, tnsBandsLong: 42, tnsBandsShort: 14 },
  { long: LONG_16, short: SHORT_16, tnsBandsLong: 42, tnsBandsShort: 14 },
  { long: LONG_16, short: SHORT_16, tnsBandsLong: 42, tnsBandsShort: 14 },
];
const LOWEST_RATE_BANDS: ScaleFactorBands = { long: LONG_8, short: SHORT_8, tnsBandsLong: 39, tnsBandsShort: 14 };

/** Returns the bands of a sampling rate. @param sampleRate Sampling rate in Hz. */
export function getScaleFactorBands(sampleRate: number): ScaleFactorBands {
  const index = RATE_LIMITS.findIndex((from) => sampleRate >= from);
  return BANDS[index] ?? LOWEST_RATE_BANDS;
}
