import type { ByteInput } from '../byte-input.ts';
import type { DecodingReporter, DecodedBlock } from '../format-decoder.ts';
import {
  AudioDecodingError,
  createNoAudioDataError,
  createNoSampleFormatError,
  createNoFrameError,
  createSampleRateError,
} from '../audio-decoding-error.ts';
import { decodeFlacFrame } from './flac-frame.ts';
import { FLAC_HEADER_BYTES_MAX, parseFlacFrameHeader, type FlacStreamInfo } from './frame-header.ts';

const STREAM_INFO = 0;
const STREAM_INFO_BYTES = 34;

/** Maximum number of bytes between two frames. */
const SEARCH_BYTES_MAX = 1024 * 1024;

/** Decodes FLAC (RFC 9639). */
export function* decodeFlac(input: ByteInput, reporter: DecodingReporter): Generator<DecodedBlock, void, undefined> {
  input.skip(4);
  let info: FlacStreamInfo | undefined;
  for (let isLast = false; !isLast;) {
    const blockHeader = input.read(4);
    if (blockHeader.length < 4) throw createNoAudioDataError();
    const [kind = 0, high = 0, middle = 0, low = 0] = blockHeader;
    isLast = kind >= 0x80;
    const bytes = (high << 16) | (middle << 8) | low;
    if ((kind & 0x7f) === STREAM_INFO) info = parseStreamInfo(input.read(bytes));
    else input.skip(bytes);
  }
  if (!info) throw createNoSampleFormatError();
  reporter.reportCodec('flac');

  let samples = 0;
  for (let searched = 0; ;) {
    const start = input.peek(FLAC_HEADER_BYTES_MAX);
    if (start.length === 0) break;
    const frameHeader = parseFlacFrameHeader(start, info);
    const frame = frameHeader && tryDecodeFrame(input.peek(frameHeader.frameBytesMax), info);
    if (!frame) {
      // A truncated last frame, or tags after the last frame, end the recording.
      if (frameHeader && input.peek(frameHeader.frameBytesMax).length < frameHeader.frameBytesMax) break;
      if (++searched > SEARCH_BYTES_MAX) throw createNoFrameError();
      if (searched === 1) reporter.reportLoss(0);
      input.skip(1);
      continue;
    }
    searched = 0;
    samples += frame.sound.channels[0]?.length ?? 0;
    yield frame.sound;
    input.skip(frame.bytes);
  }
  if (info.samples > 0 && samples < info.samples) reporter.reportTruncated();
}

function parseStreamInfo(bytes: Uint8Array): FlacStreamInfo {
  if (bytes.length < STREAM_INFO_BYTES) throw createNoSampleFormatError();
  const [, , , , , , , , , , b10 = 0, b11 = 0, b12 = 0, b13 = 0] = bytes;
  const sampleRate = (b10 << 12) | (b11 << 4) | (b12 >> 4);
  const bits = (((b12 & 1) << 4) | (b13 >> 4)) + 1;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (sampleRate === 0) throw createSampleRateError();
  return { sampleRate, bitsPerSample: bits, samples: (b13 & 15) * 2 ** 32 + view.getUint32(14) };
}

/** Decodes a frame. Returns undefined if its checksum shows that it is not a frame. */
function tryDecodeFrame(
  bytes: Uint8Array,
  info: FlacStreamInfo,
): { readonly sound: DecodedBlock; readonly bytes: number } | undefined {
  try {
    return decodeFlacFrame(bytes, info);
  } catch (error) {
    if (error instanceof AudioDecodingError && error.fault === 'damaged') return undefined;
    throw error;
  }
}
