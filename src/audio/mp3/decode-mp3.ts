import { MPEGDecoder } from 'mpg123-decoder';
import type { ByteInput } from '../byte-input.ts';
import type { Remarks, Sound } from '../recording.ts';
import { damaged } from '../unreadable.ts';
import { HEAD_BYTES, isFollowed, readMp3Head, type Mp3Head } from './frame-head.ts';

/** Ours: bytes without a frame between two of them. Beyond: this is something else. */
const SEARCH_BYTES_MAX = 1024 * 1024;

/** Frames of MPEG audio, layers I to III, one after another. The library is given whole frames only. */
export async function* decodeMp3(input: ByteInput, remarks: Remarks): AsyncGenerator<Sound, void, undefined> {
  const decoder = new MPEGDecoder();
  await decoder.ready;
  let last: Mp3Head | undefined;
  let isLost = false;
  try {
    for (let searched = 0; ;) {
      const start = input.peek(HEAD_BYTES);
      if (start.length < HEAD_BYTES) return;
      const head = readMp3Head(start);
      if (!head || (searched > 0 && !isFollowed(input, head))) {
        isLost ||= searched === 0;
        if (++searched > SEARCH_BYTES_MAX) throw damaged('has no more frames where they should be');
        input.skip(1);
        continue;
      }
      searched = 0;
      // What stands behind the last frame, such as tags, is no loss.
      if (isLost && last) remarks.lost(0);
      isLost = false;
      last = head;
      remarks.written(`mp${head.layer}`);
      const frame = input.read(head.frameBytes);
      if (frame.length < head.frameBytes) return remarks.cutOff();
      const { channelData, samplesDecoded, sampleRate, errors } = decoder.decodeFrame(frame);
      if (errors.length > 0) remarks.lost(0);
      if (samplesDecoded > 0) yield { sampleRate, channels: channelData.slice(0, head.channels) };
    }
  } finally {
    decoder.free();
  }
}
