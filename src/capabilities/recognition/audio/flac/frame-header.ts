/** STREAMINFO block of a FLAC stream. */
export interface FlacStreamInfo {
  /** Hz. */
  readonly sampleRate: number;
  readonly bitsPerSample: number;
  /** Samples per channel; 0: unknown. */
  readonly samples: number;
}

/** Header of a FLAC frame (RFC 9639, 9.1). */
export interface FlacFrameHeader {
  readonly sampleRate: number;
  readonly bitsPerSample: number;
  readonly channels: number;
  /** Channel code of the header: 8 is left/side, 9 side/right, 10 mid/side; 0: independent channels. */
  readonly stereoMode: 0 | 8 | 9 | 10;
  readonly blockSize: number;
  readonly headerBytes: number;
  /** Upper limit of the frame's size. */
  readonly frameBytesMax: number;
}

export const FLAC_HEADER_BYTES_MAX = 16;

const SAMPLE_RATES: readonly number[] = [
  0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000,
];
const SAMPLE_BITS: readonly number[] = [0, 8, 12, -1, 16, 20, 24, 32];

/** Parses a frame header. Returns undefined if the fields or the checksum are invalid. */
export function parseFlacFrameHeader(bytes: Uint8Array, info: FlacStreamInfo): FlacFrameHeader | undefined {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = bytes;
  if (b0 !== 0xff || (b1 & 0xfe) !== 0xf8 || (b3 & 1) !== 0) return undefined;
  const [sizeCode, rateCode, channelCode, bitsCode] = [b2 >> 4, b2 & 15, b3 >> 4, (b3 >> 1) & 7];
  const codedBits = SAMPLE_BITS[bitsCode] ?? -1;
  if (sizeCode === 0 || rateCode === 15 || channelCode > 10 || codedBits < 0) return undefined;
  let at = 4 + getCodedNumberBytes(bytes[4] ?? 0);
  let blockSize = sizeCode === 1 ? 192 : sizeCode < 6 ? 144 << sizeCode : 1 << sizeCode;
  if (sizeCode === 6 || sizeCode === 7) {
    blockSize = (sizeCode === 6 ? (bytes[at] ?? 0) : ((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)) + 1;
    at += sizeCode - 5;
  }
  let sampleRate = SAMPLE_RATES[rateCode] ?? 0;
  if (rateCode === 0) sampleRate = info.sampleRate;
  else if (rateCode === 12) sampleRate = (bytes[at] ?? 0) * 1_000;
  else if (rateCode > 12) sampleRate = (((bytes[at] ?? 0) << 8) | (bytes[at + 1] ?? 0)) * (rateCode === 14 ? 10 : 1);
  at += rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0;
  if (sampleRate === 0 || at >= bytes.length || computeCrc8(bytes, at) !== bytes[at]) return undefined;
  const bits = codedBits === 0 ? info.bitsPerSample : codedBits;
  const channels = channelCode < 8 ? channelCode + 1 : 2;
  const frameBytesMax = FLAC_HEADER_BYTES_MAX + 2 + channels * (8 + Math.ceil(((bits + 1) * blockSize) / 8) + 512);
  const side = channelCode === 8 || channelCode === 9 || channelCode === 10 ? channelCode : 0;
  return { sampleRate, bitsPerSample: bits, channels, stereoMode: side, blockSize, headerBytes: at + 1, frameBytesMax };
}

/** Length of the frame number, which is coded like a UTF-8 character of up to seven bytes. */
const getCodedNumberBytes = (first: number): number => (first < 0x80 ? 1 : Math.max(1, Math.clz32(~(first << 24))));

function computeCrc8(bytes: Uint8Array, to: number): number {
  let crc = 0;
  for (let at = 0; at < to; at++) {
    crc ^= bytes[at] ?? 0;
    for (let bit = 0; bit < 8; bit++) crc = crc & 0x80 ? ((crc << 1) ^ 0x07) & 0xff : crc << 1;
  }
  return crc;
}
