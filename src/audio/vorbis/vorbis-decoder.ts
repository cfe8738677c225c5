import { createImdct, type Imdct } from '../imdct.ts';
import { damaged, Unreadable } from '../unreadable.ts';
import { bitsOf } from './codebook.ts';
import { createLowBitReader, type LowBitReader } from './low-bit-reader.ts';
import { readVorbisModes, type Mapping, type VorbisFacts } from './vorbis-setup.ts';

/** Samples of each channel of the next packet; the first one has none yet. @throws Unreadable */
export type DecodeVorbis = (packet: Uint8Array) => readonly Float32Array[];

interface Block {
  readonly size: number;
  readonly isLong: boolean;
  readonly wasLong: boolean;
  readonly willBeLong: boolean;
}

/** Decodes packets of sound, from what the third packet says: Vorbis I specification, 4.3. @throws Unreadable */
export function createDecodeVorbis(facts: VorbisFacts, setup: Uint8Array): DecodeVorbis {
  const { channels, sizes } = facts;
  const modes = readVorbisModes(setup, facts);
  const transforms: readonly Imdct[] = sizes.map(createImdct);
  const slopes = sizes.map(createSlope);
  const output = new Float64Array(sizes[1]);
  /** Of each channel, the second half of the block before. */
  let tails: readonly Float64Array[] | undefined;

  const readBlock = (bits: LowBitReader): { readonly block: Block; readonly mapping: Mapping } => {
    if (bits.read(1) !== 0) throw damaged('has a packet that is no sound');
    const mode = modes[bits.read(bitsOf(modes.length - 1))];
    if (!mode) throw damaged('has a packet of a mode that is none');
    const [wasLong, willBeLong] = mode.isLong ? [bits.read(1) === 1, bits.read(1) === 1] : [false, false];
    return {
      block: { size: sizes[mode.isLong ? 1 : 0], isLong: mode.isLong, wasLong, willBeLong },
      mapping: mode.mapping,
    };
  };

  /** The block of one channel, with its slopes on. */
  const toWindow = (spectrum: Float64Array, { size, isLong, wasLong, willBeLong }: Block): Float64Array => {
    transforms[isLong ? 1 : 0]?.(spectrum, 0, output);
    const window = output.slice(0, size);
    const [rising, falling] = [slopes[wasLong ? 1 : 0], slopes[willBeLong ? 1 : 0]];
    const flat = (slope: Float64Array | undefined): number => size / 4 - (slope?.length ?? 0) / 2;
    shape(window, { from: 0, flat: flat(rising), slope: rising, isFalling: false });
    shape(window, { from: size / 2, flat: flat(falling), slope: falling, isFalling: true });
    return window;
  };

  return (packet) => {
    const bits = createLowBitReader(packet);
    const { block, mapping } = readBlock(bits);
    const spectra = readSpectra(bits, { mapping, channels, size: block.size / 2 });
    const windows = spectra.map((spectrum) => toWindow(spectrum, block));
    const before = tails;
    tails = windows.map((window) => window.slice(block.size / 2));
    return before ? windows.map((window, channel) => overlap(before[channel], window)) : [];
  };
}

interface Half {
  readonly from: number;
  readonly flat: number;
  readonly slope: Float64Array | undefined;
  readonly isFalling: boolean;
}

/** A half of a window: silent, sloped, whole, or the other way round. */
function shape(window: Float64Array, { from, flat, slope, isFalling }: Half): void {
  const length = slope?.length ?? 0;
  if (isFalling) window.fill(0, from + flat + length);
  else window.fill(0, from, from + flat);
  for (let n = 0; n < length; n++) {
    const at = from + flat + n;
    window[at] = (window[at] ?? 0) * (slope?.[isFalling ? length - 1 - n : n] ?? 0);
  }
}

/** From the middle of the block before to the middle of this one. */
function overlap(tail: Float64Array | undefined, window: Float64Array): Float32Array {
  const [old, own] = [tail?.length ?? 0, window.length / 2];
  const samples = new Float32Array((old + own) / 2);
  // The middles of both slopes stand at the same place.
  const shift = (old - own) / 2;
  for (let n = 0; n < samples.length; n++) {
    const at = n - shift;
    samples[n] = (n < old ? (tail?.[n] ?? 0) : 0) + (at >= 0 && at < own ? (window[at] ?? 0) : 0);
  }
  return samples;
}

/** 4.3.1 */
const createSlope = (size: number): Float64Array =>
  Float64Array.from({ length: size / 2 }, (_, n) =>
    Math.sin((Math.PI / 2) * Math.sin(((n + 0.5) / size) * Math.PI) ** 2),
  );

interface SpectraFacts {
  readonly mapping: Mapping;
  readonly channels: number;
  /** Values of each. */
  readonly size: number;
}

function readSpectra(bits: LowBitReader, { mapping, channels, size }: SpectraFacts): readonly Float64Array[] {
  const { couplings, parts, floors, residues } = mapping;
  const spectra = Array.from({ length: channels }, () => new Float64Array(size));
  const floorOf = (channel: number) => floors[parts[channel] ?? 0];
  const heights = spectra.map((_, channel) => floorOf(channel)?.read(bits));
  const isThere = heights.map((height) => height !== undefined);
  // Of a pair, either both are there or none.
  for (const [a, b] of couplings) if (isThere[a] || isThere[b]) isThere[a] = isThere[b] = true;
  for (const [part, residue] of residues.entries()) {
    const own = spectra.filter((_, channel) => parts[channel] === part);
    const wanted = spectra.flatMap((spectrum, channel) =>
      parts[channel] === part ? [isThere[channel] ? spectrum : undefined] : [],
    );
    if (own.length > 0) readResidueOf(() => residue.read(bits, wanted, size));
  }
  for (const [size, angle] of couplings.toReversed()) uncouple(spectra[size], spectra[angle]);
  for (const [channel, spectrum] of spectra.entries()) {
    const told = heights[channel];
    if (told) floorOf(channel)?.apply(told, spectrum);
    else spectrum.fill(0);
  }
  return spectra;
}

/** A packet may end in the middle of it: then the rest is 0 (8.6.2). */
function readResidueOf(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
  }
}

/** 4.3.5 */
function uncouple(sizes: Float64Array | undefined, angles: Float64Array | undefined): void {
  if (!sizes || !angles) return;
  for (let n = 0; n < sizes.length; n++) {
    const [size, angle] = [sizes[n] ?? 0, angles[n] ?? 0];
    if (angle > 0) angles[n] = size > 0 ? size - angle : size + angle;
    else {
      angles[n] = size;
      sizes[n] = size > 0 ? size + angle : size - angle;
    }
  }
}
