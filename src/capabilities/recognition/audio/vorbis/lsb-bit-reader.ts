import { createDamagedError } from '../audio-decoding-error.ts';

/** Reads bits from bytes in memory, the least significant bit of each byte first. */
export interface LsbBitReader {
  /** Reads up to 32 bits as a number. @throws AudioDecodingError beyond the end. */
  read(bits: number): number;
  /** Returns up to 24 bits without consuming them, padded with zeros beyond the end. */
  peek(bits: number): number;
  skip(bits: number): void;
}

export function createLsbBitReader(bytes: Uint8Array): LsbBitReader {
  const end = bytes.length * 8;
  let position = 0;
  const peek = (bits: number): number => {
    const byte = position >>> 3;
    const word =
      (bytes[byte] ?? 0) |
      ((bytes[byte + 1] ?? 0) << 8) |
      ((bytes[byte + 2] ?? 0) << 16) |
      ((bytes[byte + 3] ?? 0) << 24);
    return (word >>> (position & 7)) & ((1 << bits) - 1);
  };
  const skip = (bits: number): void => {
    position += bits;
    if (position > end) throw createDamagedError('has a packet that ends too early');
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
