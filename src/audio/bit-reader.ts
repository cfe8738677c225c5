import { damaged } from './unreadable.ts';

/** Bits of bytes in memory, the highest of a byte first. */
export interface BitReader {
  /** Up to 24 bits as a number; 0 for no bits. @throws Unreadable behind the end, as all others. */
  read(bits: number): number;
  /** The next up to 24 bits, which stay; behind the end there are zeros. */
  peek(bits: number): number;
  skip(bits: number): void;
  /** On to the next whole byte. */
  align(): void;
  /** In bits, from the beginning. */
  at(): number;
  left(): number;
}

export function createBitReader(bytes: Uint8Array): BitReader {
  const end = bytes.length * 8;
  let at = 0;

  const peek = (bits: number): number => {
    const byte = at >>> 3;
    const word =
      (((bytes[byte] ?? 0) << 24) |
        ((bytes[byte + 1] ?? 0) << 16) |
        ((bytes[byte + 2] ?? 0) << 8) |
        (bytes[byte + 3] ?? 0)) >>>
      0;
    // 24 bits stand in these 32 wherever in a byte they begin.
    return bits === 0 ? 0 : ((word << (at & 7)) >>> 0) >>> (32 - bits);
  };
  const skip = (bits: number): void => {
    at += bits;
    if (at > end) throw damaged('has a frame that ends too early');
  };

  return {
    read(bits) {
      const value = peek(bits);
      skip(bits);
      return value;
    },
    peek,
    skip,
    align: () => skip(-at & 7),
    at: () => at,
    left: () => end - at,
  };
}
