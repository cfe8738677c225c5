import type { ByteInput } from '../byte-input.ts';
import type { Remarks, Sound } from '../recording.ts';
import { damaged, Unreadable } from '../unreadable.ts';
import { decodeFlacFrame } from './flac-frame.ts';
import { HEAD_BYTES_MAX, readFrameHead, type StreamFacts } from './frame-head.ts';

const STREAM_INFO = 0;
const STREAM_INFO_BYTES = 34;

/** Ours: bytes without a frame between two of them. Beyond: this is something else. */
const SEARCH_BYTES_MAX = 1024 * 1024;

/** FLAC as RFC 9639 describes it. */
export function* decodeFlac(input: ByteInput, remarks: Remarks): Generator<Sound, void, undefined> {
  input.skip(4);
  let facts: StreamFacts | undefined;
  for (let isLast = false; !isLast;) {
    const head = input.read(4);
    if (head.length < 4) throw damaged('ends before its sound begins');
    const [kind = 0, high = 0, middle = 0, low = 0] = head;
    isLast = kind >= 0x80;
    const bytes = (high << 16) | (middle << 8) | low;
    if ((kind & 0x7f) === STREAM_INFO) facts = readStreamInfo(input.read(bytes));
    else input.skip(bytes);
  }
  if (!facts) throw damaged('does not say what its samples are');
  remarks.written('flac');

  let samples = 0;
  for (let searched = 0; ;) {
    const start = input.peek(HEAD_BYTES_MAX);
    if (start.length === 0) break;
    const head = readFrameHead(start, facts);
    const frame = head && tryFrame(input.peek(head.frameBytesMax), facts);
    if (!frame) {
      // The rest of a file that was cut off, or tags that others put behind.
      if (head && input.peek(head.frameBytesMax).length < head.frameBytesMax) break;
      if (++searched > SEARCH_BYTES_MAX) throw damaged('has no more frames where they should be');
      if (searched === 1) remarks.lost(0);
      input.skip(1);
      continue;
    }
    searched = 0;
    samples += frame.sound.channels[0]?.length ?? 0;
    yield frame.sound;
    input.skip(frame.bytes);
  }
  if (facts.samples > 0 && samples < facts.samples) remarks.cutOff();
}

function readStreamInfo(bytes: Uint8Array): StreamFacts {
  if (bytes.length < STREAM_INFO_BYTES) throw damaged('does not say what its samples are');
  const [, , , , , , , , , , b10 = 0, b11 = 0, b12 = 0, b13 = 0] = bytes;
  const sampleRate = (b10 << 12) | (b11 << 4) | (b12 >> 4);
  const bits = (((b12 & 1) << 4) | (b13 >> 4)) + 1;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  if (sampleRate === 0) throw damaged('has a sampling rate that is none');
  return { sampleRate, bits, samples: (b13 & 15) * 2 ** 32 + view.getUint32(14) };
}

/** What only looks like a frame is none: its checksums say so. */
function tryFrame(
  bytes: Uint8Array,
  facts: StreamFacts,
): { readonly sound: Sound; readonly bytes: number } | undefined {
  try {
    return decodeFlacFrame(bytes, facts);
  } catch (error) {
    if (error instanceof Unreadable && error.fault === 'damaged') return undefined;
    throw error;
  }
}
