import { damaged } from '../unreadable.ts';
import type { LowBitReader } from './low-bit-reader.ts';

/** A code and, for most, the vectors that its words stand for: Vorbis I specification, 3. */
export interface Codebook {
  readonly dimensions: number;
  /** The number of the next word. @throws Unreadable */
  readWord(bits: LowBitReader): number;
  /** One value of the vector of a word. */
  valueOf(word: number, at: number): number;
  readonly hasVectors: boolean;
}

const SYNC = 0x564342;

/** Ours: words of a code, and values of its vectors. Encoders make a few thousand. */
const WORDS_MAX = 1 << 17;
const VALUES_MAX = 1 << 21;

/** Words of up to so many bits are found by one look. */
const LOOK_BITS = 10;
const UNUSED = 0;

/** @throws Unreadable */
export function readCodebook(bits: LowBitReader): Codebook {
  if (bits.read(24) !== SYNC) throw damaged('has a code that is none');
  const dimensions = bits.read(16);
  const count = bits.read(24);
  if (count > WORDS_MAX || dimensions === 0) throw damaged('has a code that is too large');
  const lengths = readLengths(bits, count);
  const lookup = bits.read(4);
  if (lookup > 2) throw damaged('has a code that is none');
  const vectors = lookup === 0 ? undefined : readVectors(bits, { dimensions, count, isTable: lookup === 2 });
  return {
    dimensions,
    readWord: createReadWord(lengths),
    valueOf: (word, at) => vectors?.[word * dimensions + at] ?? 0,
    hasVectors: vectors !== undefined,
  };
}

function readLengths(bits: LowBitReader, count: number): Uint8Array {
  const lengths = new Uint8Array(count);
  if (bits.read(1) === 1) {
    let length = bits.read(5) + 1;
    for (let at = 0; at < count; length++) {
      const more = bits.read(bitsOf(count - at));
      if (at + more > count || length > 32) throw damaged('has a code that is none');
      lengths.fill(length, at, at + more);
      at += more;
    }
    return lengths;
  }
  const isSparse = bits.read(1) === 1;
  for (let at = 0; at < count; at++) lengths[at] = isSparse && bits.read(1) === 0 ? UNUSED : bits.read(5) + 1;
  return lengths;
}

/** How many bits a number takes. */
export const bitsOf = (value: number): number => (value <= 0 ? 0 : 32 - Math.clz32(value));

interface VectorFacts {
  readonly dimensions: number;
  readonly count: number;
  readonly isTable: boolean;
}

function readVectors(bits: LowBitReader, { dimensions, count, isTable }: VectorFacts): Float32Array {
  const lowest = readFloat(bits);
  const step = readFloat(bits);
  const width = bits.read(4) + 1;
  const isSum = bits.read(1) === 1;
  if (count * dimensions > VALUES_MAX) throw damaged('has a code that is too large');
  const steps = isTable ? count * dimensions : rootOf(count, dimensions);
  const multiples = Array.from({ length: steps }, () => bits.read(width));
  const vectors = new Float32Array(count * dimensions);
  for (let word = 0; word < count; word++) {
    let last = 0;
    let divisor = 1;
    for (let n = 0; n < dimensions; n++) {
      const at = isTable ? word * dimensions + n : Math.floor(word / divisor) % steps;
      const value = (multiples[at] ?? 0) * step + lowest + last;
      vectors[word * dimensions + n] = value;
      if (isSum) last = value;
      divisor *= steps;
    }
  }
  return vectors;
}

/** The largest number whose power is not above the count. */
function rootOf(count: number, power: number): number {
  let root = Math.floor(count ** (1 / power));
  while ((root + 1) ** power <= count) root++;
  while (root ** power > count) root--;
  return Math.max(root, 1);
}

/** Mantissa of 21 bits, exponent of 10, sign: 9.2.2. */
function readFloat(bits: LowBitReader): number {
  const word = bits.read(32);
  const mantissa = word % 2 ** 21;
  const exponent = Math.floor(word / 2 ** 21) % 2 ** 10;
  return (word >= 2 ** 31 ? -mantissa : mantissa) * 2 ** (exponent - 788);
}

/** Each word is the lowest one that is free in its length: 3.2.1. */
function createReadWord(lengths: Uint8Array): (bits: LowBitReader) => number {
  // A tree in an array: two places for each node, above 0 the next node, below 0 a word.
  const tree = [0, 0];
  const look = new Int32Array(1 << LOOK_BITS);
  const free = new Float64Array(33).fill(-1);
  let only = -1;
  let used = 0;
  for (const [word, length] of lengths.entries()) {
    if (length === UNUSED) continue;
    only = word;
    let code = 0;
    if (used++ === 0) for (let n = 1; n <= length; n++) free[n] = 2 ** (32 - n);
    else {
      let from = length;
      while (from > 0 && (free[from] ?? -1) < 0) from--;
      if (from === 0) throw damaged('has a code with too many words');
      code = free[from] ?? 0;
      free[from] = -1;
      for (let n = length; n > from; n--) free[n] = code + 2 ** (32 - n);
    }
    grow(tree, { code, length, word });
    if (length > LOOK_BITS) continue;
    let reversed = 0;
    for (let n = 0; n < length; n++) if (Math.floor(code / 2 ** (31 - n)) % 2 === 1) reversed |= 1 << n;
    for (let at = reversed; at < look.length; at += 1 << length) look[at] = (word << 5) | length;
  }
  // A single word takes one bit, whichever.
  if (used === 1 && (lengths[only] ?? 0) === 1) look.fill((only << 5) | 1);

  return (bits) => {
    const found = look[bits.peek(LOOK_BITS)] ?? 0;
    if (found !== 0) {
      bits.skip(found & 31);
      return found >>> 5;
    }
    for (let node = 0; ;) {
      const next = tree[node + bits.read(1)] ?? 0;
      if (next < 0) return -1 - next;
      if (next === 0) throw damaged('has a packet with a word that is none');
      node = next;
    }
  };
}

function grow(
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
