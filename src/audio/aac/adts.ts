import type { ByteInput } from '../byte-input.ts';
import type { Remarks, Sound } from '../recording.ts';
import { damaged, Unreadable, unsupported } from '../unreadable.ts';
import { createAacDecoder, type AacDecoder } from './aac-decoder.ts';
import { SAMPLE_RATES } from './bands.ts';
import { requireLowComplexity } from './config.ts';
import { FRAME } from './window-shape.ts';

/** The head before each frame of an AAC stream: ISO/IEC 14496-3, 1.A.2.2. */
export interface AdtsHead {
  readonly objectType: number;
  readonly sampleRate: number;
  readonly headBytes: number;
  /** With its head. */
  readonly frameBytes: number;
  readonly isOneBlock: boolean;
}

const HEAD_BYTES = 7;

/** Ours: bytes without a frame, between two or before the first one. Beyond: this is something else. */
const SEARCH_BYTES_MAX = 64 * 1024;

export function readAdtsHead(bytes: Uint8Array): AdtsHead | undefined {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0] = bytes;
  if (bytes.length < HEAD_BYTES || b0 !== 0xff || (b1 & 0xf6) !== 0xf0) return undefined;
  const sampleRate = SAMPLE_RATES[(b2 >> 2) & 15];
  const headBytes = (b1 & 1) === 1 ? HEAD_BYTES : HEAD_BYTES + 2;
  const frameBytes = ((b3 & 3) << 11) | (b4 << 3) | (b5 >> 5);
  if (sampleRate === undefined || frameBytes <= headBytes) return undefined;
  return { objectType: (b2 >> 6) + 1, sampleRate, headBytes, frameBytes, isOneBlock: (b6 & 3) === 0 };
}

/** A stream of AAC frames, each with a head of its own. */
export function* decodeAdts(input: ByteInput, remarks: Remarks): Generator<Sound, void, undefined> {
  let decoder: AacDecoder | undefined;
  let rate = 0;
  remarks.written('aac');
  for (let searched = 0; ;) {
    const start = input.peek(HEAD_BYTES);
    if (start.length === 0) return;
    const head = readAdtsHead(start);
    if (!head) {
      if (start.length < HEAD_BYTES) return remarks.cutOff();
      if (++searched > SEARCH_BYTES_MAX) throw damaged('has no more frames where they should be');
      if (searched === 1 && decoder) remarks.lost(0);
      input.skip(1);
      continue;
    }
    searched = 0;
    requireLowComplexity(head.objectType);
    if (!head.isOneBlock) throw unsupported('is AAC with several blocks in a frame, which are not read');
    const frame = input.read(head.frameBytes);
    if (frame.length < head.frameBytes) return remarks.cutOff();
    if (!decoder || rate !== head.sampleRate) {
      rate = head.sampleRate;
      decoder = createAacDecoder({ sampleRate: rate, hasUpperBands: false });
    }
    const channels = decodeFrame(decoder, frame.subarray(head.headBytes), remarks);
    if (decoder.hasUpperBands()) remarks.lowerHalf();
    if (channels.length > 0) yield { sampleRate: rate, channels };
  }
}

/** A frame that is damaged is silent; the next ones may be whole. @throws Unreadable for what is not damaged but not read. */
export function decodeFrame(decoder: AacDecoder, frame: Uint8Array, remarks: Remarks): readonly Float32Array[] {
  try {
    return decoder.decode(frame);
  } catch (error) {
    if (!(error instanceof Unreadable) || error.fault !== 'damaged') throw error;
    remarks.lost(FRAME);
    return [new Float32Array(FRAME)];
  }
}
