import { INTENSITY_BOOK_IN, INTENSITY_BOOK_OUT, NOISE_BOOK, type ChannelFrame } from './channel-frame.ts';
import { SHORT } from './window-shape.ts';

/** By group and band: 0, or that a pair of channels is written as sum and difference, MARKED band by band or ALL at once. */
export type SumBands = Uint8Array | undefined;
export const MARKED = 1;
export const ALL = 2;

/** Channels of a pair out of their sum and difference (ISO/IEC 14496-3, 4.6.8.1), or the right one out of the left (4.6.8.2). */
export function joinStereo(left: ChannelFrame, right: ChannelFrame, sums: SumBands): void {
  forBands(right, ({ at, from, to }) => {
    const book = right.books[at] ?? 0;
    const sum = sums?.[at] ?? 0;
    if (book === INTENSITY_BOOK_IN || book === INTENSITY_BOOK_OUT) {
      const sign = (book === INTENSITY_BOOK_IN) !== (sum === MARKED) ? 1 : -1;
      const factor = sign * 0.5 ** ((right.scales[at] ?? 0) / 4);
      for (let n = from; n < to; n++) right.spectrum[n] = factor * (left.spectrum[n] ?? 0);
    } else if (sum !== 0 && book !== NOISE_BOOK && left.books[at] !== NOISE_BOOK) {
      for (let n = from; n < to; n++) {
        const [both, difference] = [left.spectrum[n] ?? 0, right.spectrum[n] ?? 0];
        left.spectrum[n] = both + difference;
        right.spectrum[n] = both - difference;
      }
    }
  });
}

/** Fills bands of which only the energy is told (4.6.13). `twin` is the left channel where its noise may be the same. */
export function fillNoise(
  frame: ChannelFrame,
  random: () => number,
  twin?: { readonly left: ChannelFrame; readonly sums: SumBands },
): void {
  forBands(frame, ({ at, from, to }) => {
    if (frame.books[at] !== NOISE_BOOK) return;
    const isSame = twin !== undefined && (twin.sums?.[at] ?? 0) !== 0 && twin.left.books[at] === NOISE_BOOK;
    let energy = 0;
    for (let n = from; n < to; n++) {
      const value = isSame ? (twin.left.spectrum[n] ?? 0) : random();
      frame.spectrum[n] = value;
      energy += value * value;
    }
    if (energy === 0) return;
    const factor = 2 ** ((frame.scales[at] ?? 0) / 4) / Math.sqrt(energy);
    for (let n = from; n < to; n++) frame.spectrum[n] = (frame.spectrum[n] ?? 0) * factor;
  });
}

interface BandPlace {
  readonly at: number;
  readonly from: number;
  readonly to: number;
}

/** Each band of each window. */
function forBands({ shape }: ChannelFrame, visit: (place: BandPlace) => void): void {
  let window = 0;
  for (const [group, length] of shape.groups.entries()) {
    for (let band = 0; band < shape.bandCount; band++) {
      const [from, to] = [shape.edges[band] ?? 0, shape.edges[band + 1] ?? 0];
      for (let n = window; n < window + length; n++) {
        visit({ at: group * shape.bandCount + band, from: n * SHORT + from, to: n * SHORT + to });
      }
    }
    window += length;
  }
}
