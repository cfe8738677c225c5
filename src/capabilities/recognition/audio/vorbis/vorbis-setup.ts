import { AUDIO_CHANNELS_MAX } from '../limits.ts';
import { createDamagedError, createUnsupportedError, createChannelsError } from '../audio-decoding-error.ts';
import { countNumberBits, readCodebook } from './codebook.ts';
import { readFloor, type Floor } from './floor.ts';
import { createLsbBitReader, type LsbBitReader } from './lsb-bit-reader.ts';
import { readResidue, type Residue } from './residue.ts';

export interface VorbisStreamInfo {
  readonly channels: number;
  /** Hz. */
  readonly sampleRate: number;
  /** Samples per short and per long block. */
  readonly blockSizes: readonly [short: number, long: number];
}

export interface VorbisMapping {
  /** Coupled channels: magnitude and angle. */
  readonly couplings: readonly (readonly [size: number, angle: number])[];
  /** Submap number of each channel. */
  readonly submaps: readonly number[];
  readonly floors: readonly Floor[];
  readonly residues: readonly Residue[];
}

export interface VorbisMode {
  readonly isLongBlock: boolean;
  readonly mapping: VorbisMapping;
}

/** Parses the first packet (Vorbis I specification, 4.2.2). @throws AudioDecodingError */
export function parseIdentificationHeader(packet: Uint8Array): VorbisStreamInfo {
  const bits = createLsbBitReader(packet.subarray(7));
  if (bits.read(32) !== 0) throw createUnsupportedError('is Vorbis of an unsupported version');
  const channels = bits.read(8);
  const sampleRate = bits.read(32);
  bits.read(32);
  bits.read(32);
  bits.read(32);
  const [short, long] = [1 << bits.read(4), 1 << bits.read(4)];
  if (channels === 0 || sampleRate === 0) throw createDamagedError('has an invalid header');
  if (channels > AUDIO_CHANNELS_MAX) throw createChannelsError(channels);
  if (short < 64 || short > long || long > 8_192) throw createDamagedError('has an invalid header');
  return { channels, sampleRate, blockSizes: [short, long] };
}

/** Parses the third packet (section 4.2.4). @throws AudioDecodingError */
export function parseSetupHeader(packet: Uint8Array, { channels }: VorbisStreamInfo): readonly VorbisMode[] {
  const bits = createLsbBitReader(packet.subarray(7));
  const readList = <Item>(countBits: number, read: () => Item): readonly Item[] =>
    Array.from({ length: bits.read(countBits) + 1 }, read);
  const books = readList(8, () => readCodebook(bits));
  readList(6, () => bits.read(16));
  const floors = readList(6, () => readFloor(bits, books));
  const residues = readList(6, () => readResidue(bits, books));
  const mappings = readList(6, () => readMapping(bits, { channels, floors, residues }));
  return readList(6, () => {
    const isLongBlock = bits.read(1) === 1;
    bits.skip(16);
    bits.skip(16);
    return { isLongBlock, mapping: requireItem(mappings[bits.read(8)]) };
  });
}

interface MappingOptions {
  readonly channels: number;
  readonly floors: readonly Floor[];
  readonly residues: readonly Residue[];
}

function readMapping(bits: LsbBitReader, { channels, floors, residues }: MappingOptions): VorbisMapping {
  if (bits.read(16) !== 0) throw createDamagedError('has an invalid mapping');
  const submapCount = bits.read(1) === 1 ? bits.read(4) + 1 : 1;
  const channelBits = countNumberBits(channels - 1);
  const couplings = Array.from({ length: bits.read(1) === 1 ? bits.read(8) + 1 : 0 }, () => {
    const [magnitude, angle] = [bits.read(channelBits), bits.read(channelBits)];
    if (magnitude === angle || magnitude >= channels || angle >= channels)
      throw createDamagedError('has an invalid mapping');
    return [magnitude, angle] as const;
  });
  if (bits.read(2) !== 0) throw createDamagedError('has an invalid mapping');
  const submaps = Array.from({ length: channels }, () => (submapCount > 1 ? bits.read(4) : 0));
  const submapParts = Array.from({ length: submapCount }, () => {
    bits.skip(8);
    return { floor: requireItem(floors[bits.read(8)]), residue: requireItem(residues[bits.read(8)]) };
  });
  if (submaps.some((part) => part >= submapCount)) throw createDamagedError('has an invalid mapping');
  return {
    couplings,
    submaps,
    floors: submapParts.map(({ floor }) => floor),
    residues: submapParts.map(({ residue }) => residue),
  };
}

function requireItem<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw createDamagedError('refers to a missing floor, residue or mapping');
  return thing;
}
