import type { ByteInput } from '../byte-input.ts';

/** The head of a frame of MPEG audio: ISO/IEC 11172-3, 2.4.1.3, and 13818-3 for lower rates. */
export interface Mp3Head {
  /** Hz. */
  readonly sampleRate: number;
  readonly channels: 1 | 2;
  readonly layer: 1 | 2 | 3;
  /** With its head. */
  readonly frameBytes: number;
}

export const HEAD_BYTES = 4;

/** kbit/s by layer, for the higher rates and for the lower ones. */
const HIGH: readonly (readonly number[])[] = [
  [32, 64, 96, 128, 160, 192, 224, 256, 288, 320, 352, 384, 416, 448],
  [32, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384],
  [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320],
];
const LOW_FIRST: readonly number[] = [32, 48, 56, 64, 80, 96, 112, 128, 144, 160, 176, 192, 224, 256];
const LOW: readonly number[] = [8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160];
const RATES: readonly number[] = [44_100, 48_000, 32_000];

const VERSION_1 = 3;
const VERSION_RESERVED = 1;
const MONO = 3;

/** @returns undefined where there is none. */
export function readMp3Head(bytes: Uint8Array): Mp3Head | undefined {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0] = bytes;
  if (bytes.length < HEAD_BYTES || b0 !== 0xff || (b1 & 0xe0) !== 0xe0) return undefined;
  const version = (b1 >> 3) & 3;
  const layer = toLayer((b1 >> 1) & 3);
  const fullRate = RATES[(b2 >> 2) & 3];
  if (version === VERSION_RESERVED || layer === undefined || fullRate === undefined) return undefined;
  const isFull = version === VERSION_1;
  const kbits = (isFull ? HIGH[layer - 1] : layer === 1 ? LOW_FIRST : LOW)?.[(b2 >> 4) - 1];
  // A frame that does not say how long it is: nobody writes them.
  if (kbits === undefined) return undefined;
  const sampleRate = fullRate / (isFull ? 1 : version === 2 ? 2 : 4);
  const padding = (b2 >> 1) & 1;
  const perSecond = (kbits * 1_000) / sampleRate;
  const frameBytes =
    layer === 1
      ? (Math.floor(12 * perSecond) + padding) * 4
      : Math.floor((layer === 3 && !isFull ? 72 : 144) * perSecond) + padding;
  return { sampleRate, channels: b3 >> 6 === MONO ? 1 : 2, layer, frameBytes };
}

/** 3 is the first layer. */
const toLayer = (bits: number): 1 | 2 | 3 | undefined => (bits === 3 ? 1 : bits === 2 ? 2 : bits === 1 ? 3 : undefined);

/** Eleven bits alone are found anywhere: another frame of the same kind stands behind a frame, or the end. */
export function isFollowed(input: ByteInput, head: Mp3Head): boolean {
  const bytes = input.peek(head.frameBytes + HEAD_BYTES).subarray(head.frameBytes);
  if (bytes.length < HEAD_BYTES) return bytes.length === 0;
  const next = readMp3Head(bytes);
  return next !== undefined && next.layer === head.layer && next.sampleRate === head.sampleRate;
}
