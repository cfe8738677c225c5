/** What a stream says of all its frames. */
export interface StreamFacts {
  /** Hz. */
  readonly sampleRate: number;
  readonly bits: number;
  /** Of each channel; 0 where nobody knows. */
  readonly samples: number;
}

/** The head of a frame: RFC 9639, 9.1. */
export interface FrameHead {
  readonly sampleRate: number;
  readonly bits: number;
  readonly channels: number;
  /** Two channels as a difference: how, by the number in the head; 0 where each is as it is. */
  readonly side: 0 | 8 | 9 | 10;
  readonly blockSize: number;
  readonly headBytes: number;
  /** No frame of this head is larger. */
  readonly frameBytesMax: number;
}

export const HEAD_BYTES_MAX = 16;

const RATES: readonly number[] = [
  0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000,
];
const BITS: readonly number[] = [0, 8, 12, -1, 16, 20, 24, 32];

/** @returns undefined where there is none, by its fields or its checksum. */
export function readFrameHead(bytes: Uint8Array, facts: StreamFacts): FrameHead | undefined {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = bytes;
  if (b0 !== 0xff || (b1 & 0xfe) !== 0xf8 || (b3 & 1) !== 0) return undefined;
  const [size, rate, placing, width] = [b2 >> 4, b2 & 15, b3 >> 4, (b3 >> 1) & 7];
  const ownBits = BITS[width] ?? -1;
  if (size === 0 || rate === 15 || placing > 10 || ownBits < 0) return undefined;
  let at = 4 + codedNumberBytes(bytes[4] ?? 0);
  let blockSize = size === 1 ? 192 : size < 6 ? 144 << size : 1 << size;
  if (size === 6 || size === 7) {
    blockSize = (size === 6 ? (bytes[at] ?? 0) : ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)) + 1;
    at += size - 5;
  }
  let sampleRate = RATES[rate] ?? 0;
  if (rate === 0) sampleRate = facts.sampleRate;
  else if (rate === 12) sampleRate = (bytes[at] ?? 0) * 1_000;
  else if (rate > 12) sampleRate = (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)) * (rate === 14 ? 10 : 1);
  at += rate === 12 ? 1 : rate > 12 ? 2 : 0;
  if (sampleRate === 0 || at >= bytes.length || crc8(bytes, at) !== bytes[at]) return undefined;
  const bits = ownBits === 0 ? facts.bits : ownBits;
  const channels = placing < 8 ? placing + 1 : 2;
  const frameBytesMax = HEAD_BYTES_MAX + 2 + channels * (8 + Math.ceil(((bits + 1) * blockSize) / 8) + 512);
  const side = placing === 8 || placing === 9 || placing === 10 ? placing : 0;
  return { sampleRate, bits, channels, side, blockSize, headBytes: at + 1, frameBytesMax };
}

/** The number of a frame is written as letters are in UTF-8, in up to seven bytes. */
const codedNumberBytes = (first: number): number => (first < 0x80 ? 1 : Math.max(1, Math.clz32(~(first << 24))));

function crc8(bytes: Uint8Array, to: number): number {
  let crc = 0;
  for (let at = 0; at < to; at++) {
    crc ^= bytes[at] ?? 0;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 0x07) & 0xff : crc << 1;
  }
  return crc;
}
