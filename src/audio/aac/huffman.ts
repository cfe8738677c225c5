import type { BitReader } from '../bit-reader.ts';
import { damaged } from '../unreadable.ts';
import type { CodeTable } from './codebooks.ts';

/** Reads one word and says what it stands for. @throws Unreadable where the bits end. */
export type ReadSymbol = (bits: BitReader) => number;

/** Words of up to so many bits are found by one look. */
const LOOK_BITS = 9;

export function createReadSymbol(table: CodeTable): ReadSymbol {
  const counts = table.counts.split(' ').map(Number);
  const symbols = Uint16Array.from(table.symbols.split(/\s+/), Number);
  const longest = counts.length;
  // Of each length: its first word, and where its symbols begin.
  const first = new Int32Array(longest + 2);
  const begins = new Int32Array(longest + 2);
  for (let length = 1; length <= longest; length++) {
    const before = length === 1 ? 0 : (counts[length - 2] ?? 0);
    first[length] = ((first[length - 1] ?? 0) + before) << 1;
    begins[length] = (begins[length - 1] ?? 0) + before;
  }
  const look = new Uint16Array(1 << LOOK_BITS);
  for (let length = 1; length <= Math.min(longest, LOOK_BITS); length++) {
    for (let n = 0; n < (counts[length - 1] ?? 0); n++) {
      const from = ((first[length] ?? 0) + n) << (LOOK_BITS - length);
      const entry = ((symbols[(begins[length] ?? 0) + n] ?? 0) << 4) | length;
      look.fill(entry, from, from + (1 << (LOOK_BITS - length)));
    }
  }

  return (bits) => {
    const word = bits.peek(longest);
    const entry = look[longest >= LOOK_BITS ? word >>> (longest - LOOK_BITS) : word << (LOOK_BITS - longest)] ?? 0;
    if (entry !== 0) {
      bits.skip(entry & 15);
      return entry >>> 4;
    }
    for (let length = LOOK_BITS + 1; length <= longest; length++) {
      const offset = (word >>> (longest - length)) - (first[length] ?? 0);
      if (offset >= (counts[length - 1] ?? 0)) continue;
      bits.skip(length);
      return symbols[(begins[length] ?? 0) + offset] ?? 0;
    }
    throw damaged('has a frame with a word that is none');
  };
}
