import { createDamagedError } from './audio-decoding-error.ts';

/** Reads bits from bytes in memory, the most significant bit of each byte first. */
export interface BitReader {
  /**
   * Reads up to 24 bits as a number; 0 for no bits.
   * @throws AudioDecodingError beyond the end, like all other functions.
   */
  read(bits: number): number;
  /** Returns up to 24 bits without consuming them, padded with zeros beyond the end. */
  peek(bits: number): number;
  skip(bits: number): void;
  /** Skips to the next byte boundary. */
  align(): void;
  /** Position in bits from the start. */
  getPosition(): number;
  countRemaining(): number;
}

export function createBitReader(bytes: Uint8Array): BitReader {
  const end = bytes.length * 8;
  let position = 0;

  const peek = (bits: number): number => {
    const byte = position >>> 3;
    const word =
      (((bytes[byte] ?? 0) << 24) |
        ((bytes[byte + 1] ?? 0) << 16) |
        ((bytes[byte + 2] ?? 0) << 8) |
        (bytes[byte + 3] ?? 0)) >>>
      0;
    // These 32 bits contain 24 bits from any position within a byte.
    return bits === 0 ? 0 : ((word << (position & 7)) >>> 0) >>> (32 - bits);
  };
  const skip = (bits: number): void => {
    position += bits;
    if (position > end) throw createDamagedError('has a frame that ends too early');
  };

  return {
    read(bits) {
      const value = peek(bits);
      skip(bits);
      return value;
    },
    peek,
    skip,
    align: () => skip(-position & 7),
    getPosition: () => position,
    countRemaining: () => end - position,
  };
}
