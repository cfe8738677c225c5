import type { ByteInput } from '../byte-input.ts';
import type { DecodingReporter, DecodedBlock } from '../format-decoder.ts';
import { AudioDecodingError, createNoFrameError, createUnsupportedFormatError } from '../audio-decoding-error.ts';
import { createAacDecoder, type AacDecoder } from './aac-decoder.ts';
import { SAMPLE_RATES } from './scale-factor-bands.ts';
import { requireAacLc } from './aac-config.ts';
import { FRAME_SAMPLES } from './ics-info.ts';

/** Header of an ADTS frame (ISO/IEC 14496-3, 1.A.2.2). */
export interface AdtsHeader {
  readonly objectType: number;
  readonly sampleRate: number;
  readonly headerBytes: number;
  /** Size of the frame with its header. */
  readonly frameBytes: number;
  readonly hasSingleBlock: boolean;
}

const ADTS_HEADER_BYTES = 7;

/** Maximum number of bytes between two frames, or before the first one. */
const SEARCH_BYTES_MAX = 64 * 1024;

export function parseAdtsHeader(bytes: Uint8Array): AdtsHeader | undefined {
  const [b0 = 0, b1 = 0, b2 = 0, b3 = 0, b4 = 0, b5 = 0, b6 = 0] = bytes;
  if (bytes.length < ADTS_HEADER_BYTES || b0 !== 0xff || (b1 & 0xf6) !== 0xf0) return undefined;
  const sampleRate = SAMPLE_RATES[(b2 >> 2) & 15];
  const headBytes = (b1 & 1) === 1 ? ADTS_HEADER_BYTES : ADTS_HEADER_BYTES + 2;
  const frameBytes = ((b3 & 3) << 11) | (b4 << 3) | (b5 >> 5);
  if (sampleRate === undefined || frameBytes <= headBytes) return undefined;
  return { objectType: (b2 >> 6) + 1, sampleRate, headerBytes: headBytes, frameBytes, hasSingleBlock: (b6 & 3) === 0 };
}

/** Decodes an ADTS stream. */
export function* decodeAdts(input: ByteInput, reporter: DecodingReporter): Generator<DecodedBlock, void, undefined> {
  let decoder: AacDecoder | undefined;
  let rate = 0;
  reporter.reportCodec('aac');
  for (let searched = 0; ;) {
    const start = input.peek(ADTS_HEADER_BYTES);
    if (start.length === 0) return;
    const header = parseAdtsHeader(start);
    if (!header) {
      if (start.length < ADTS_HEADER_BYTES) return reporter.reportTruncated();
      if (++searched > SEARCH_BYTES_MAX) throw createNoFrameError();
      if (searched === 1 && decoder) reporter.reportLoss(0);
      input.skip(1);
      continue;
    }
    searched = 0;
    requireAacLc(header.objectType);
    if (!header.hasSingleBlock) throw createUnsupportedFormatError('AAC with several blocks per frame');
    const frame = input.read(header.frameBytes);
    if (frame.length < header.frameBytes) return reporter.reportTruncated();
    if (!decoder || rate !== header.sampleRate) {
      rate = header.sampleRate;
      decoder = createAacDecoder({ sampleRate: rate, hasSbr: false });
    }
    const channels = decodeFrameOrSilence(decoder, frame.subarray(header.headerBytes), reporter);
    if (decoder.hasSbr()) reporter.reportCoreOnly();
    if (channels.length > 0) yield { sampleRate: rate, channels };
  }
}

/** Decodes a frame, or returns silence if it is damaged. @throws AudioDecodingError if it is not supported. */
export function decodeFrameOrSilence(
  decoder: AacDecoder,
  frame: Uint8Array,
  reporter: DecodingReporter,
): readonly Float32Array[] {
  try {
    return decoder.decode(frame);
  } catch (error) {
    if (!(error instanceof AudioDecodingError) || error.fault !== 'damaged') throw error;
    reporter.reportLoss(FRAME_SAMPLES);
    return [new Float32Array(FRAME_SAMPLES)];
  }
}
