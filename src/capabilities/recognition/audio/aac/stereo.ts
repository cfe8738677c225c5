import {
  INTENSITY_CODEBOOK_IN_PHASE,
  INTENSITY_CODEBOOK_OUT_OF_PHASE,
  NOISE_CODEBOOK,
  type ChannelFrame,
} from './channel-frame.ts';
import { SHORT_WINDOW_SAMPLES } from './ics-info.ts';

/** Mid/side mask by group and band: 0, MID_SIDE_PER_BAND, or MID_SIDE_ALL if the frame marks all bands at once. */
export type MidSideBands = Uint8Array | undefined;
const MID_SIDE_PER_BAND = 1;
export const MID_SIDE_ALL = 2;

/** Applies mid/side stereo (ISO/IEC 14496-3, 4.6.8.1) and intensity stereo (4.6.8.2) to a channel pair. */
export function applyStereo(left: ChannelFrame, right: ChannelFrame, midSideBands: MidSideBands): void {
  forEachBand(right, ({ at, from, to }) => {
    const codebook = right.codebooks[at] ?? 0;
    const midSide = midSideBands?.[at] ?? 0;
    if (codebook === INTENSITY_CODEBOOK_IN_PHASE || codebook === INTENSITY_CODEBOOK_OUT_OF_PHASE) {
      // The mid/side mask inverts the phase, but only if it is sent per band.
      const isInPhase = (codebook === INTENSITY_CODEBOOK_IN_PHASE) !== (midSide === MID_SIDE_PER_BAND);
      const sign = isInPhase ? 1 : -1;
      const factor = sign * 0.5 ** ((right.scaleFactors[at] ?? 0) / 4);
      for (let n = from; n < to; n++) right.spectrum[n] = factor * (left.spectrum[n] ?? 0);
    } else if (midSide !== 0 && codebook !== NOISE_CODEBOOK && left.codebooks[at] !== NOISE_CODEBOOK) {
      for (let n = from; n < to; n++) {
        const [mid, side] = [left.spectrum[n] ?? 0, right.spectrum[n] ?? 0];
        left.spectrum[n] = mid + side;
        right.spectrum[n] = mid - side;
      }
    }
  });
}

/**
 * Applies perceptual noise substitution (PNS, ISO/IEC 14496-3, 4.6.13): fills each noise band with random values that
 * have the band's energy.
 *
 * @param pair Only for the right channel of a pair: it gets the noise of the left channel in bands that the mid/side
 * mask marks, if both channels have noise there.
 */
export function applyPns(
  frame: ChannelFrame,
  random: () => number,
  pair?: { readonly left: ChannelFrame; readonly midSideBands: MidSideBands },
): void {
  forEachBand(frame, ({ at, from, to }) => {
    if (frame.codebooks[at] !== NOISE_CODEBOOK) return;
    const sharesNoise =
      pair !== undefined && (pair.midSideBands?.[at] ?? 0) !== 0 && pair.left.codebooks[at] === NOISE_CODEBOOK;
    let energy = 0;
    for (let n = from; n < to; n++) {
      const value = sharesNoise ? (pair.left.spectrum[n] ?? 0) : random();
      frame.spectrum[n] = value;
      energy += value * value;
    }
    if (energy === 0) return;
    const factor = 2 ** ((frame.scaleFactors[at] ?? 0) / 4) / Math.sqrt(energy);
    for (let n = from; n < to; n++) frame.spectrum[n] = (frame.spectrum[n] ?? 0) * factor;
  });
}

interface BandRange {
  /** Index of the group and band, in `codebooks` and `scaleFactors`. */
  readonly at: number;
  /** First index in `spectrum`; `to` is excluded. */
  readonly from: number;
  readonly to: number;
}

/** Visits each band of each window. */
function forEachBand({ ics }: ChannelFrame, visit: (range: BandRange) => void): void {
  let window = 0;
  for (const [group, length] of ics.groups.entries()) {
    for (let band = 0; band < ics.bandCount; band++) {
      const [from, to] = [ics.edges[band] ?? 0, ics.edges[band + 1] ?? 0];
      for (let n = window; n < window + length; n++) {
        visit({
          at: group * ics.bandCount + band,
          from: n * SHORT_WINDOW_SAMPLES + from,
          to: n * SHORT_WINDOW_SAMPLES + to,
        });
      }
    }
    window += length;
  }
}
