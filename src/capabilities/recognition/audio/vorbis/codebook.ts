import { createDamagedError, type AudioDecodingError } from '../audio-decoding-error.ts';
import type { LsbBitReader } from './lsb-bit-reader.ts';

/** A codebook: entries with codewords, and usually vectors (Vorbis I specification, section 3). */
export interface Codebook {
  readonly dimensions: number;
  /** Reads the number of the next entry. @throws AudioDecodingError */
  readEntry(bits: LsbBitReader): number;
  /** Returns one value of an entry's vector. */
  getVectorValue(word: number, at: number): number;
  readonly hasVectors: boolean;
}

const SYNC_PATTERN = 0x564342;

/** Maximum number of entries and vector values. Encoders use a few thousand. */
const ENTRIES_MAX = 1 << 17;
const VECTOR_VALUES_MAX = 1 << 21;

/** Codewords up to this length are decoded by one table lookup. */
const LOOKUP_BITS = 10;
const UNUSED_LENGTH = 0;

/** Reads a codebook. @throws AudioDecodingError */
export function readCodebook(bits: LsbBitReader): Codebook {
  if (bits.read(24) !== SYNC_PATTERN) throw createDamagedError('has an invalid codebook');
  const dimensions = bits.read(16);
  const entryCount = bits.read(24);
  if (entryCount > ENTRIES_MAX || dimensions === 0) throw createCodebookSizeError();
  const lengths = readCodewordLengths(bits, entryCount);
  const lookupType = bits.read(4);
  if (lookupType > 2) throw createDamagedError('has an invalid codebook');
  const vectors =
    lookupType === 0 ? undefined : readVectors(bits, { dimensions, count: entryCount, isExplicit: lookupType === 2 });
  return {
    dimensions,
    readEntry: createEntryReader(lengths),
    getVectorValue: (word, at) => vectors?.[word * dimensions + at] ?? 0,
    hasVectors: vectors !== undefined,
  };
}

function readCodewordLengths(bits: LsbBitReader, count: number): Uint8Array {
  const lengths = new Uint8Array(count);
  if (bits.read(1) === 1) {
    let length = bits.read(5) + 1;
    for (let at = 0; at < count; length++) {
      const more = bits.read(countNumberBits(count - at));
      if (at + more > count || length > 32) throw createDamagedError('has an invalid codebook');
      lengths.fill(length, at, at + more);
      at += more;
    }
    return lengths;
  }
  const isSparse = bits.read(1) === 1;
  for (let at = 0; at < count; at++) lengths[at] = isSparse && bits.read(1) === 0 ? UNUSED_LENGTH : bits.read(5) + 1;
  return lengths;
}

/** Returns the number of bits of an integer (`ilog` of the specification). */
export const countNumberBits = (value: number): number => (value <= 0 ? 0 : 32 - Math.clz32(value));

interface VectorOptions {
  readonly dimensions: number;
  readonly count: number;
  readonly isExplicit: boolean;
}

function readVectors(bits: LsbBitReader, { dimensions, count, isExplicit }: VectorOptions): Float32Array {
  const minimum = readFloat(bits);
  const delta = readFloat(bits);
  const valueBits = bits.read(4) + 1;
  const isSequence = bits.read(1) === 1;
  if (count * dimensions > VECTOR_VALUES_MAX) throw createCodebookSizeError();
  const valueCount = isExplicit ? count * dimensions : computeLookup1Values(count, dimensions);
  const multiplicands = Array.from({ length: valueCount }, () => bits.read(valueBits));
  const vectors = new Float32Array(count * dimensions);
  for (let entry = 0; entry < count; entry++) {
    let last = 0;
    let divisor = 1;
    for (let n = 0; n < dimensions; n++) {
      const at = isExplicit ? entry * dimensions + n : Math.floor(entry / divisor) % valueCount;
      const value = (multiplicands[at] ?? 0) * delta + minimum + last;
      vectors[entry * dimensions + n] = value;
      if (isSequence) last = value;
      divisor *= valueCount;
    }
  }
  return vectors;
}

/** Returns the largest integer whose power is at most the count (`lookup1_values` of the specification). */
function computeLookup1Values(count: number, power: number): number {
  let root = Math.floor(count ** (1 / power));
  while ((root + 1) ** power <= count) root++;
  while (root ** power > count) root--;
  return Math.max(root, 1);
}

/** Reads a float of 21 bits mantissa, 10 bits exponent and a sign (section 9.2.2). */
function readFloat(bits: LsbBitReader): number {
  const word = bits.read(32);
  const mantissa = word % 2 ** 21;
  const exponent = Math.floor(word / 2 ** 21) % 2 ** 10;
  return (word >= 2 ** 31 ? -mantissa : mantissa) * 2 ** (exponent - 788);
}

/** Creates the decoder of codewords. Each codeword is the lowest free one of its length (section 3.2.1). */
function createEntryReader(lengths: Uint8Array): (bits: LsbBitReader) => number {
  // Binary tree in an array: two elements per node, positive for a child node, negative for an entry.
  const tree = [0, 0];
  const lookup = new Int32Array(1 << LOOKUP_BITS);
  const freeCodewords = new Float64Array(33).fill(-1);
  let lastEntry = -1;
  let usedCount = 0;
  for (const [entry, length] of lengths.entries()) {
    if (length === UNUSED_LENGTH) continue;
    lastEntry = entry;
    let code = 0;
    if (usedCount++ === 0) for (let n = 1; n <= length; n++) freeCodewords[n] = 2 ** (32 - n);
    else {
      let from = length;
      while (from > 0 && (freeCodewords[from] ?? -1) < 0) from--;
      if (from === 0) throw createDamagedError('has a codebook with too many codewords');
      code = freeCodewords[from] ?? 0;
      freeCodewords[from] = -1;
      for (let n = length; n > from; n--) freeCodewords[n] = code + 2 ** (32 - n);
    }
    addCodeword(tree, { code, length, word: entry });
    if (length > LOOKUP_BITS) continue;
    let reversed = 0;
    for (let n = 0; n < length; n++) if (Math.floor(code / 2 ** (31 - n)) % 2 === 1) reversed |= 1 << n;
    for (let at = reversed; at < lookup.length; at += 1 << length) lookup[at] = (entry << 5) | length;
  }
  // A single entry has a one-bit codeword with any value.
  if (usedCount === 1 && (lengths[lastEntry] ?? 0) === 1) lookup.fill((lastEntry << 5) | 1);

  return (bits) => {
    const packed = lookup[bits.peek(LOOKUP_BITS)] ?? 0;
    if (packed !== 0) {
      bits.skip(packed & 31);
      return packed >>> 5;
    }
    for (let node = 0; ;) {
      const next = tree[node + bits.read(1)] ?? 0;
      if (next < 0) return -1 - next;
      if (next === 0) throw createDamagedError('has a packet with an invalid codeword');
      node = next;
    }
  };
}

function addCodeword(
  tree: number[],
  { code, length, word }: { readonly code: number; readonly length: number; readonly word: number },
): void {
  let node = 0;
  for (let n = 0; n < length; n++) {
    const place = node + (Math.floor(code / 2 ** (31 - n)) % 2);
    if (n === length - 1) tree[place] = -1 - word;
    else if ((tree[place] ?? 0) > 0) node = tree[place] ?? 0;
    else {
      node = tree.push(0, 0) - 2;
      tree[place] = node;
    }
  }
}

const createCodebookSizeError = (): AudioDecodingError => createDamagedError('has a codebook that is too large');
