import type { ByteInput } from '../byte-input.ts';

/** Header of an MPEG audio frame (ISO/IEC 11172-3, 2.4.1.3; 13818-3 for lower rates). */
export interface Mp3FrameHeader {
  /** Hz. */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  readonly layer: 1 | 2 | 3;
  /** Size of the frame with its header. */
  readonly frameBytes: number;
}

export const MP3_HEADER_BYTES = 4;

/** Bit rates in kbit/s: of MPEG-1 by layer, of MPEG-2 layer I, and of MPEG-2 layers II and III. */
const MPEG1_KBITS: readonly (readonly number[])[] = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const MPEG2_LAYER1_KBITS: readonly number[] = [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256];
const MPEG2_KBITS: readonly number[] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const MPEG1_SAMPLE_RATES: readonly number[] = [44_100, 48_000, 32_000];

const VERSION_MPEG1 = 3;
const VERSION_RESERVED = 1;
const MODE_MONO = 3;

/** Parses a frame header. Returns undefined if there is none. */
export function parseMp3FrameHeader(bytes: Uint8Array): Mp3FrameHeader | undefined {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = bytes;
  if (bytes.length < MP3_HEADER_BYTES || b0 !== 0xff || (b1 & 0xe0) !== 0xe0) return undefined;
  const version = (b1 >> 3) & 3;
  const layer = decodeLayer((b1 >> 1) & 3);
  const mpeg1Rate = MPEG1_SAMPLE_RATES[(b2 >> 2) & 3];
  if (version === VERSION_RESERVED || layer === undefined || mpeg1Rate === undefined) return undefined;
  const isMpeg1 = version === VERSION_MPEG1;
  const kbits = (isMpeg1 ? MPEG1_KBITS[layer - 1] : layer === 1 ? MPEG2_LAYER1_KBITS : MPEG2_KBITS)?.[(b2 >> 4) - 1];
  // Free-format frames, which do not state their bit rate, are not supported: nobody writes them.
  if (kbits === undefined) return undefined;
  const sampleRate = mpeg1Rate / (isMpeg1 ? 1 : version === 2 ? 2 : 4);
  const padding = (b2 >> 1) & 1;
  const perSecond = (kbits * 1_000) / sampleRate;
  const frameBytes =
    layer === 1
      ? (Math.floor(12 * perSecond) + padding) * 4
      : Math.floor((layer === 3 && !isMpeg1 ? 72 : 144) * perSecond) + padding;
  return { sampleRate, channels: b3 >> 6 === MODE_MONO ? 1 : 2, layer, frameBytes };
}

/** Decodes the layer bits: 3 means layer I. */
const decodeLayer = (bits: number): 1 | 2 | 3 | undefined =>
  bits === 3 ? 1 : bits === 2 ? 2 : bits === 1 ? 3 : undefined;

/** Returns whether a frame of the same kind, or the end, follows: eleven sync bits alone occur in any data. */
export function isFollowedByFrame(input: ByteInput, header: Mp3FrameHeader): boolean {
  const bytes = input.peek(header.frameBytes + MP3_HEADER_BYTES).subarray(header.frameBytes);
  if (bytes.length < MP3_HEADER_BYTES) return bytes.length === 0;
  const next = parseMp3FrameHeader(bytes);
  return next !== undefined && next.layer === header.layer && next.sampleRate === header.sampleRate;
}
