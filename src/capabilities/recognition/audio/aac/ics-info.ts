import type { BitReader } from '../bit-reader.ts';
import { createDamagedError, createUnsupportedError } from '../audio-decoding-error.ts';
import type { ScaleFactorBands } from './scale-factor-bands.ts';

/** Samples per frame, and per short window. */
export const FRAME_SAMPLES = 1024;
export const SHORT_WINDOW_SAMPLES = FRAME_SAMPLES / 8;

/** Window sequences (ISO/IEC 14496-3, table 4.109). */
export const LONG_START_SEQUENCE = 1;
export const EIGHT_SHORT_SEQUENCE = 2;
export const LONG_STOP_SEQUENCE = 3;

/** Window information of a channel: `ics_info` (ISO/IEC 14496-3, table 4.50). */
export interface IcsInfo {
  readonly windowSequence: number;
  readonly isKbd: boolean;
  /** Number of transmitted bands per window. */
  readonly bandCount: number;
  /** Number of windows in each group; the windows of a group share their scale factors. */
  readonly groups: readonly number[];
  /** Band edges of one window. */
  readonly edges: readonly number[];
  /** Number of bands that TNS may process. */
  readonly tnsBands: number;
}

/** Reads window information. @throws AudioDecodingError */
export function readIcsInfo(bits: BitReader, bands: ScaleFactorBands): IcsInfo {
  bits.skip(1);
  const sequence = bits.read(2);
  const isKaiser = bits.read(1) === 1;
  const isShort = sequence === EIGHT_SHORT_SEQUENCE;
  const edges = isShort ? bands.short : bands.long;
  const bandCount = bits.read(isShort ? 4 : 6);
  if (bandCount >= edges.length) throw createDamagedError('has a frame with too many bands');
  const groups = [1];
  if (isShort) {
    for (let window = 1; window < 8; window++) {
      if (bits.read(1) === 1) groups.push((groups.pop() ?? 0) + 1);
      else groups.push(1);
    }
  } else if (bits.read(1) === 1) {
    throw createUnsupportedError('is AAC with prediction; only AAC LC is supported');
  }
  return {
    windowSequence: sequence,
    isKbd: isKaiser,
    bandCount,
    groups,
    edges,
    tnsBands: isShort ? bands.tnsBandsShort : bands.tnsBandsLong,
  };
}
