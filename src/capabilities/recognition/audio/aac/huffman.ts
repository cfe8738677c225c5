import type { BitReader } from '../bit-reader.ts';
import { createDamagedError } from '../audio-decoding-error.ts';
import type { HuffmanTable } from './codebooks.ts';

/** Reads one codeword and returns its symbol. @throws AudioDecodingError at the end of the bits. */
export type SymbolReader = (bits: BitReader) => number;

/** Codewords up to this length are decoded by one table lookup. */
const LOOKUP_BITS = 9;

export function createSymbolReader(table: HuffmanTable): SymbolReader {
  const counts = table.counts.split(' ').map(Number);
  const symbols = Uint16Array.from(table.symbols.split(/\s+/), Number);
  const longest = counts.length;
  // First codeword and index of the first symbol, by codeword length.
  const firstCodewords = new Int32Array(longest + 2);
  const symbolStarts = new Int32Array(longest + 2);
  for (let length = 1; length <= longest; length++) {
    const before = length === 1 ? 0 : (counts[length - 2] ?? 0);
    firstCodewords[length] = ((firstCodewords[length - 1] ?? 0) + before) << 1;
    symbolStarts[length] = (symbolStarts[length - 1] ?? 0) + before;
  }
  const lookup = new Uint16Array(1 << LOOKUP_BITS);
  for (let length = 1; length <= Math.min(longest, LOOKUP_BITS); length++) {
    for (let n = 0; n < (counts[length - 1] ?? 0); n++) {
      const from = ((firstCodewords[length] ?? 0) + n) << (LOOKUP_BITS - length);
      const entry = ((symbols[(symbolStarts[length] ?? 0) + n] ?? 0) << 4) | length;
      lookup.fill(entry, from, from + (1 << (LOOKUP_BITS - length)));
    }
  }

  return (bits) => {
    const codeword = bits.peek(longest);
    const entry =
      lookup[longest >= LOOKUP_BITS ? codeword >>> (longest - LOOKUP_BITS) : codeword << (LOOKUP_BITS - longest)] ?? 0;
    if (entry !== 0) {
      bits.skip(entry & 15);
      return entry >>> 4;
    }
    for (let length = LOOKUP_BITS + 1; length <= longest; length++) {
      const offset = (codeword >>> (longest - length)) - (firstCodewords[length] ?? 0);
      if (offset >= (counts[length - 1] ?? 0)) continue;
      bits.skip(length);
      return symbols[(symbolStarts[length] ?? 0) + offset] ?? 0;
    }
    throw createDamagedError('has a frame with an invalid codeword');
  };
}
