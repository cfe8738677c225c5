import { damaged } from '../unreadable.ts';

/** Bits of bytes in memory, the lowest of a byte first. */
export interface LowBitReader {
  /** Up to 32 bits as a number. @throws Unreadable behind the end. */
  read(bits: number): number;
  /** The next up to 24 bits, which stay; behind the end there are zeros. */
  peek(bits: number): number;
  skip(bits: number): void;
}

export function createLowBitReader(bytes: Uint8Array): LowBitReader {
  const end = bytes.length * 8;
  let at = 0;
  const peek = (bits: number): number => {
    const byte = at >>> 3;
    const word =
      (bytes[byte] ?? 0) |
      ((bytes[byte + 1] ?? 0) << 8) |
      ((bytes[byte + 2] ?? 0) << 16) |
      ((bytes[byte + 3] ?? 0) << 24);
    return (word >>> (at & 7)) & ((1 << bits) - 1);
  };
  const skip = (bits: number): void => {
    at += bits;
    if (at > end) throw damaged('has a packet that ends too early');
  };
  const readFew = (bits: number): number => {
    const value = peek(bits);
    skip(bits);
    return value;
  };
  return {
    peek,
    skip,
    read: (bits) => (bits <= 24 ? readFew(bits) : readFew(16) + readFew(bits - 16) * 2 ** 16),
  };
}
