import { MPEGDecoder } from 'mpg123-decoder';
import type { ByteInput } from '../byte-input.ts';
import type { DecodingReporter, DecodedBlock } from '../format-decoder.ts';
import { createNoFrameError } from '../audio-decoding-error.ts';
import { MP3_HEADER_BYTES, isFollowedByFrame, parseMp3FrameHeader, type Mp3FrameHeader } from './frame-header.ts';

/** Maximum number of bytes between two frames. */
const SEARCH_BYTES_MAX = 1024 * 1024;

/** Decodes MPEG audio, layers I to III. The library gets complete frames only. */
export async function* decodeMp3(
  input: ByteInput,
  reporter: DecodingReporter,
): AsyncGenerator<DecodedBlock, void, undefined> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  let last: Mp3FrameHeader | undefined;
  let isFrameLost = false;
  try {
    for (let searched = 0; ;) {
      const start = input.peek(MP3_HEADER_BYTES);
      if (start.length < MP3_HEADER_BYTES) return;
      const header = parseMp3FrameHeader(start);
      if (!header || (searched > 0 && !isFollowedByFrame(input, header))) {
        isFrameLost ||= searched === 0;
        if (++searched > SEARCH_BYTES_MAX) throw createNoFrameError();
        input.skip(1);
        continue;
      }
      searched = 0;
      // Bytes after the last frame, such as tags, are no loss.
      if (isFrameLost && last) reporter.reportLoss(0);
      isFrameLost = false;
      last = header;
      reporter.reportCodec(`mp${header.layer}`);
      const frame = input.read(header.frameBytes);
      if (frame.length < header.frameBytes) return reporter.reportTruncated();
      const { channelData, samplesDecoded, sampleRate, errors } = decoder.decodeFrame(frame);
      if (errors.length > 0) reporter.reportLoss(0);
      if (samplesDecoded > 0) yield { sampleRate, channels: channelData.slice(0, header.channels) };
    }
  } finally {
    decoder.free();
  }
}
