import type { BitReader } from '../bit-reader.ts';
import { damaged, unsupported } from '../unreadable.ts';
import type { Bands } from './bands.ts';

/** Samples of a frame, and of one of its eight short windows. */
export const FRAME = 1024;
export const SHORT = FRAME / 8;

/** ISO/IEC 14496-3, table 4.109: how a frame is cut into windows, by number. */
export const LONG_START = 1;
export const EIGHT_SHORT = 2;
export const LONG_STOP = 3;

/** How a channel's frame is divided: `ics_info` of ISO/IEC 14496-3, table 4.50. */
export interface WindowShape {
  readonly sequence: number;
  readonly isKaiser: boolean;
  /** Bands that are there, of each window. */
  readonly bandCount: number;
  /** Windows that share their scale factors: how many of them, group by group. */
  readonly groups: readonly number[];
  /** Edges of the bands of one window. */
  readonly edges: readonly number[];
  /** Bands that noise shaping in time may reach. */
  readonly shapedBands: number;
}

/** @throws Unreadable */
export function readWindowShape(bits: BitReader, bands: Bands): WindowShape {
  bits.skip(1);
  const sequence = bits.read(2);
  const isKaiser = bits.read(1) === 1;
  const isShort = sequence === EIGHT_SHORT;
  const edges = isShort ? bands.short : bands.long;
  const bandCount = bits.read(isShort ? 4 : 6);
  if (bandCount >= edges.length) throw damaged('has a frame with more bands than there are');
  const groups = [1];
  if (isShort) {
    for (let window = 1; window < 8; window++) {
      if (bits.read(1) === 1) groups.push((groups.pop() ?? 0) + 1);
      else groups.push(1);
    }
  } else if (bits.read(1) === 1) {
    throw unsupported('is AAC with prediction, of which only the profile LC is read');
  }
  return { sequence, isKaiser, bandCount, groups, edges, shapedBands: isShort ? bands.shapedShort : bands.shapedLong };
}
