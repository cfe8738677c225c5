import type { BitReader } from '../bit-reader.ts';
import { damaged, unsupported } from '../unreadable.ts';
import { EIGHT_SHORT, FRAME, SHORT, type WindowShape } from './window-shape.ts';
import { readNoiseShaping, type NoiseShaping } from './noise-shaping.ts';
import type { SpectrumReader } from './spectrum.ts';

/** Codebooks that say something else than how values are written. */
export const NOISE_BOOK = 13;
export const INTENSITY_BOOK_OUT = 14;
export const INTENSITY_BOOK_IN = 15;
const RESERVED_BOOK = 12;

/** What a frame says of one channel: `individual_channel_stream` of ISO/IEC 14496-3, table 4.51, spectrum scaled. */
export interface ChannelFrame {
  readonly shape: WindowShape;
  /** By group and band: `group * shape.bandCount + band`. */
  readonly books: Uint8Array;
  /** By group and band: a scale factor, a position between channels, or an energy of noise, as the codebook says. */
  readonly scales: Int32Array;
  readonly spectrum: Float64Array;
  readonly shaping: NoiseShaping | undefined;
}

interface Pulses {
  readonly band: number;
  readonly steps: readonly (readonly [offset: number, amplitude: number])[];
}

/** @throws Unreadable */
export function readChannelFrame(bits: BitReader, reader: SpectrumReader, readShape: () => WindowShape): ChannelFrame {
  const gain = bits.read(8);
  const shape = readShape();
  const books = readSections(bits, shape);
  const scales = readScales(bits, { shape, books, gain, reader });
  const isShort = shape.sequence === EIGHT_SHORT;
  const pulses = bits.read(1) === 1 ? readPulses(bits) : undefined;
  if (pulses && isShort) throw damaged('has a frame with pulses in short windows');
  const shaping = bits.read(1) === 1 ? readNoiseShaping(bits, isShort) : undefined;
  if (bits.read(1) === 1) throw unsupported('is AAC with gain control, of which only the profile LC is read');

  const spectrum = new Float64Array(FRAME);
  let window = 0;
  for (const [group, length] of shape.groups.entries()) {
    for (let band = 0; band < shape.bandCount; band++) {
      const book = books[group * shape.bandCount + band] ?? 0;
      if (book === 0 || book > 11) continue;
      const [from, to] = [shape.edges[band] ?? 0, shape.edges[band + 1] ?? 0];
      for (let n = 0; n < length; n++) {
        reader.readValues(bits, book, spectrum, { from: (window + n) * SHORT + from, to: (window + n) * SHORT + to });
      }
    }
    window += length;
  }
  if (pulses) addPulses(spectrum, shape, pulses);
  scaleSpectrum({ shape, books, scales, spectrum, shaping }, reader);
  return { shape, books, scales, spectrum, shaping };
}

function readSections(bits: BitReader, { sequence, bandCount, groups }: WindowShape): Uint8Array {
  const books = new Uint8Array(groups.length * bandCount);
  const lengthBits = sequence === EIGHT_SHORT ? 3 : 5;
  const more = (1 << lengthBits) - 1;
  for (let group = 0; group < groups.length; group++) {
    for (let band = 0; band < bandCount;) {
      const book = bits.read(4);
      if (book === RESERVED_BOOK) throw damaged('has a frame with a codebook that is none');
      let length = 0;
      for (let part = more; part === more; length += part) part = bits.read(lengthBits);
      if (length === 0 || band + length > bandCount) throw damaged('has a frame with sections beyond its bands');
      books.fill(book, group * bandCount + band, group * bandCount + band + length);
      band += length;
    }
  }
  return books;
}

interface ScaleFacts {
  readonly shape: WindowShape;
  readonly books: Uint8Array;
  readonly gain: number;
  readonly reader: SpectrumReader;
}

/** Differences from the one before of the same kind: 4.6.2.3, 4.6.8.2 and 4.6.13.3. */
function readScales(bits: BitReader, { shape, books, gain, reader }: ScaleFacts): Int32Array {
  const scales = new Int32Array(books.length);
  let scale = gain;
  let position = 0;
  let noise = gain - 90;
  let isFirstNoise = true;
  for (let at = 0; at < shape.groups.length * shape.bandCount; at++) {
    const book = books[at] ?? 0;
    if (book === 0) continue;
    if (book === INTENSITY_BOOK_IN || book === INTENSITY_BOOK_OUT) {
      position += reader.readScaleStep(bits);
      scales[at] = position;
    } else if (book === NOISE_BOOK) {
      noise += isFirstNoise ? bits.read(9) - 256 : reader.readScaleStep(bits);
      isFirstNoise = false;
      scales[at] = noise;
    } else {
      scale += reader.readScaleStep(bits);
      if (scale < 0 || scale > 255) throw damaged('has a frame with a scale that is none');
      scales[at] = scale;
    }
  }
  return scales;
}

function readPulses(bits: BitReader): Pulses {
  const count = bits.read(2) + 1;
  const band = bits.read(6);
  const steps = Array.from({ length: count }, () => [bits.read(5), bits.read(4)] as const);
  return { band, steps };
}

/** A value that is far from its neighbours is written apart from them: 4.6.3. */
function addPulses(spectrum: Float64Array, shape: WindowShape, { band, steps }: Pulses): void {
  let at = shape.edges[band];
  if (at === undefined) throw damaged('has a frame with a pulse beyond its bands');
  for (const [offset, amplitude] of steps) {
    at += offset;
    if (at >= FRAME) throw damaged('has a frame with a pulse beyond its bands');
    const value = spectrum[at] ?? 0;
    spectrum[at] = value > 0 ? value + amplitude : value - amplitude;
  }
}

/** Each value to the power of 4/3, times 2 for each 4 steps of its scale above 100: 4.6.1.3, 4.6.2.3.3. */
function scaleSpectrum({ shape, books, scales, spectrum }: ChannelFrame, reader: SpectrumReader): void {
  let window = 0;
  for (const [group, length] of shape.groups.entries()) {
    for (let band = 0; band < shape.bandCount; band++) {
      const at = group * shape.bandCount + band;
      const book = books[at] ?? 0;
      if (book === 0 || book > 11) continue;
      const gain = 2 ** (((scales[at] ?? 0) - 100) / 4);
      const [from, to] = [shape.edges[band] ?? 0, shape.edges[band + 1] ?? 0];
      for (let n = window; n < window + length; n++) reader.expand(spectrum, n * SHORT + from, n * SHORT + to, gain);
    }
    window += length;
  }
}
