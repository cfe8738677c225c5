import { createImdct, type Imdct } from '../imdct.ts';
import { createDamagedError, AudioDecodingError } from '../audio-decoding-error.ts';
import { countNumberBits } from './codebook.ts';
import { createLsbBitReader, type LsbBitReader } from './lsb-bit-reader.ts';
import { parseSetupHeader, type VorbisMapping, type VorbisStreamInfo } from './vorbis-setup.ts';

/**
 * Decodes a packet. Returns the samples of each channel, or nothing for the first packet.
 * @throws AudioDecodingError
 */
export type VorbisDecoder = (packet: Uint8Array) => readonly Float32Array[];

interface VorbisBlock {
  readonly size: number;
  readonly isLong: boolean;
  readonly isPreviousLong: boolean;
  readonly isNextLong: boolean;
}

/**
 * Creates the decoder of audio packets from the setup header (Vorbis I specification, 4.3).
 * @throws AudioDecodingError
 */
export function createVorbisDecoder(info: VorbisStreamInfo, setup: Uint8Array): VorbisDecoder {
  const { channels, blockSizes } = info;
  const modes = parseSetupHeader(setup, info);
  const transforms: readonly Imdct[] = blockSizes.map(createImdct);
  const slopes = blockSizes.map(createWindowSlope);
  const output = new Float64Array(blockSizes[1]);
  /** Second half of the previous block, by channel. */
  let tails: readonly Float64Array[] | undefined;

  const readBlock = (bits: LsbBitReader): { readonly block: VorbisBlock; readonly mapping: VorbisMapping } => {
    if (bits.read(1) !== 0) throw createDamagedError('has a packet that is not audio');
    const mode = modes[bits.read(countNumberBits(modes.length - 1))];
    if (!mode) throw createDamagedError('has a packet with an invalid mode');
    const [wasLong, willBeLong] = mode.isLongBlock ? [bits.read(1) === 1, bits.read(1) === 1] : [false, false];
    return {
      block: {
        size: blockSizes[mode.isLongBlock ? 1 : 0],
        isLong: mode.isLongBlock,
        isPreviousLong: wasLong,
        isNextLong: willBeLong,
      },
      mapping: mode.mapping,
    };
  };

  /** Computes the windowed block of a channel. */
  const computeWindow = (
    spectrum: Float64Array,
    { size, isLong, isPreviousLong, isNextLong }: VorbisBlock,
  ): Float64Array => {
    transforms[isLong ? 1 : 0]?.(spectrum, 0, output);
    const window = output.slice(0, size);
    const [rising, falling] = [slopes[isPreviousLong ? 1 : 0], slopes[isNextLong ? 1 : 0]];
    const flat = (slope: Float64Array | undefined): number => size / 4 - (slope?.length ?? 0) / 2;
    applySlope(window, { from: 0, silent: flat(rising), slope: rising, isFalling: false });
    applySlope(window, { from: size / 2, silent: flat(falling), slope: falling, isFalling: true });
    return window;
  };

  return (packet) => {
    const bits = createLsbBitReader(packet);
    const { block, mapping } = readBlock(bits);
    const spectra = readSpectra(bits, { mapping, channels, size: block.size / 2 });
    const windows = spectra.map((spectrum) => computeWindow(spectrum, block));
    const before = tails;
    tails = windows.map((window) => window.slice(block.size / 2));
    return before ? windows.map((window, channel) => overlapAdd(before[channel], window)) : [];
  };
}

interface WindowHalf {
  readonly from: number;
  readonly silent: number;
  readonly slope: Float64Array | undefined;
  readonly isFalling: boolean;
}

/** Applies one half of a window: zero, slope, one; or the reverse. */
function applySlope(window: Float64Array, { from, silent, slope, isFalling }: WindowHalf): void {
  const length = slope?.length ?? 0;
  if (isFalling) window.fill(0, from + silent + length);
  else window.fill(0, from, from + silent);
  for (let n = 0; n < length; n++) {
    const at = from + silent + n;
    window[at] = (window[at] ?? 0) * (slope?.[isFalling ? length - 1 - n : n] ?? 0);
  }
}

/** Overlaps two blocks: returns the samples from the middle of the previous block to the middle of the current one. */
function overlapAdd(tail: Float64Array | undefined, window: Float64Array): Float32Array {
  const [previousLength, currentLength] = [tail?.length ?? 0, window.length / 2];
  const samples = new Float32Array((previousLength + currentLength) / 2);
  // The centers of both slopes coincide.
  const shift = (previousLength - currentLength) / 2;
  for (let n = 0; n < samples.length; n++) {
    const at = n - shift;
    samples[n] = (n < previousLength ? (tail?.[n] ?? 0) : 0) + (at >= 0 && at < currentLength ? (window[at] ?? 0) : 0);
  }
  return samples;
}

/** Rising half of a window (section 4.3.1). */
const createWindowSlope = (size: number): Float64Array =>
  Float64Array.from({ length: size / 2 }, (_, n) =>
    Math.sin((Math.PI / 2) * Math.sin(((n + 0.5) / size) * Math.PI) ** 2),
  );

interface SpectraOptions {
  readonly mapping: VorbisMapping;
  readonly channels: number;
  /** Values per spectrum. */
  readonly size: number;
}

function readSpectra(bits: LsbBitReader, { mapping, channels, size }: SpectraOptions): readonly Float64Array[] {
  const { couplings, submaps, floors, residues } = mapping;
  const spectra = Array.from({ length: channels }, () => new Float64Array(size));
  const getFloor = (channel: number) => floors[submaps[channel] ?? 0];
  const curves = spectra.map((_, channel) => getFloor(channel)?.readYValues(bits));
  const isUsed = curves.map((curve) => curve !== undefined);
  // If one channel of a coupled pair is used, decode both.
  for (const [a, b] of couplings) if (isUsed[a] || isUsed[b]) isUsed[a] = isUsed[b] = true;
  for (const [submap, residue] of residues.entries()) {
    const submapSpectra = spectra.filter((_, channel) => submaps[channel] === submap);
    const vectors = spectra.flatMap((spectrum, channel) =>
      submaps[channel] === submap ? [isUsed[channel] ? spectrum : undefined] : [],
    );
    if (submapSpectra.length > 0) ignoreEndOfPacket(() => residue.read(bits, vectors, size));
  }
  for (const [magnitude, angle] of couplings.toReversed()) decouple(spectra[magnitude], spectra[angle]);
  for (const [channel, spectrum] of spectra.entries()) {
    const yValues = curves[channel];
    if (yValues) getFloor(channel)?.apply(yValues, spectrum);
    else spectrum.fill(0);
  }
  return spectra;
}

/** Ignores the end of the packet within a residue: the rest is 0 (section 8.6.2). */
function ignoreEndOfPacket(read: () => void): void {
  try {
    read();
  } catch (error) {
    if (!(error instanceof AudioDecodingError)) throw error;
  }
}

/** Reverses the coupling of a magnitude and an angle vector (section 4.3.5). */
function decouple(magnitudes: Float64Array | undefined, angles: Float64Array | undefined): void {
  if (!magnitudes || !angles) return;
  for (let n = 0; n < magnitudes.length; n++) {
    const [magnitude, angle] = [magnitudes[n] ?? 0, angles[n] ?? 0];
    if (angle > 0) angles[n] = magnitude > 0 ? magnitude - angle : magnitude + angle;
    else {
      angles[n] = magnitude;
      magnitudes[n] = magnitude > 0 ? magnitude + angle : magnitude - angle;
    }
  }
}
