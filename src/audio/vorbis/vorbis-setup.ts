import { AUDIO_CHANNELS_MAX } from '../../core/limits.ts';
import { damaged, unsupported } from '../unreadable.ts';
import { bitsOf, readCodebook } from './codebook.ts';
import { readFloor, type Floor } from './floor.ts';
import { createLowBitReader, type LowBitReader } from './low-bit-reader.ts';
import { readResidue, type Residue } from './residue.ts';

export interface VorbisFacts {
  readonly channels: number;
  /** Hz. */
  readonly sampleRate: number;
  /** Samples of short and long blocks. */
  readonly sizes: readonly [short: number, long: number];
}

export interface Mapping {
  /** Pairs of channels as a size and an angle. */
  readonly couplings: readonly (readonly [size: number, angle: number])[];
  /** Of each channel, the number of its part. */
  readonly parts: readonly number[];
  readonly floors: readonly Floor[];
  readonly residues: readonly Residue[];
}

export interface Mode {
  readonly isLong: boolean;
  readonly mapping: Mapping;
}

/** The first packet: Vorbis I specification, 4.2.2. @throws Unreadable */
export function readVorbisHead(packet: Uint8Array): VorbisFacts {
  const bits = createLowBitReader(packet.subarray(7));
  if (bits.read(32) !== 0) throw unsupported('is Vorbis of another version');
  const channels = bits.read(8);
  const sampleRate = bits.read(32);
  bits.read(32);
  bits.read(32);
  bits.read(32);
  const [short, long] = [1 << bits.read(4), 1 << bits.read(4)];
  if (channels === 0 || sampleRate === 0) throw damaged('has a head that is none');
  if (channels > AUDIO_CHANNELS_MAX) throw unsupported(`has ${channels} channels, of 1 to ${AUDIO_CHANNELS_MAX}`);
  if (short < 64 || short > long || long > 8_192) throw damaged('has a head that is none');
  return { channels, sampleRate, sizes: [short, long] };
}

/** The third packet: 4.2.4. @throws Unreadable */
export function readVorbisModes(packet: Uint8Array, { channels }: VorbisFacts): readonly Mode[] {
  const bits = createLowBitReader(packet.subarray(7));
  const list = <Item>(countBits: number, read: () => Item): readonly Item[] =>
    Array.from({ length: bits.read(countBits) + 1 }, read);
  const books = list(8, () => readCodebook(bits));
  list(6, () => bits.read(16));
  const floors = list(6, () => readFloor(bits, books));
  const residues = list(6, () => readResidue(bits, books));
  const mappings = list(6, () => readMapping(bits, { channels, floors, residues }));
  return list(6, () => {
    const isLong = bits.read(1) === 1;
    bits.skip(16);
    bits.skip(16);
    return { isLong, mapping: known(mappings[bits.read(8)]) };
  });
}

interface MappingFacts {
  readonly channels: number;
  readonly floors: readonly Floor[];
  readonly residues: readonly Residue[];
}

function readMapping(bits: LowBitReader, { channels, floors, residues }: MappingFacts): Mapping {
  if (bits.read(16) !== 0) throw damaged('has a mapping that is none');
  const partCount = bits.read(1) === 1 ? bits.read(4) + 1 : 1;
  const channelBits = bitsOf(channels - 1);
  const couplings = Array.from({ length: bits.read(1) === 1 ? bits.read(8) + 1 : 0 }, () => {
    const [size, angle] = [bits.read(channelBits), bits.read(channelBits)];
    if (size === angle || size >= channels || angle >= channels) throw damaged('has a mapping that is none');
    return [size, angle] as const;
  });
  if (bits.read(2) !== 0) throw damaged('has a mapping that is none');
  const parts = Array.from({ length: channels }, () => (partCount > 1 ? bits.read(4) : 0));
  const own = Array.from({ length: partCount }, () => {
    bits.skip(8);
    return { floor: known(floors[bits.read(8)]), residue: known(residues[bits.read(8)]) };
  });
  if (parts.some((part) => part >= partCount)) throw damaged('has a mapping that is none');
  return { couplings, parts, floors: own.map(({ floor }) => floor), residues: own.map(({ residue }) => residue) };
}

function known<Thing>(thing: Thing | undefined): Thing {
  if (thing === undefined) throw damaged('names a part that is none');
  return thing;
}
