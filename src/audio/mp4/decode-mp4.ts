import { AUDIO_INDEX_BYTES_MAX, AUDIO_PACKET_BYTES_MAX } from '../../core/limits.ts';
import { createAacDecoder } from '../aac/aac-decoder.ts';
import { decodeFrame } from '../aac/adts.ts';
import type { ByteInput } from '../byte-input.ts';
import type { Remarks, Sound } from '../recording.ts';
import { damaged } from '../unreadable.ts';
import { placesOfFragment } from './fragment.ts';
import type { SamplePlace } from './sample-table.ts';
import { findSoundTrack, type SoundTrack } from './sound-track.ts';

/** The first track of AAC of an MP4 file, in one piece or in fragments; its index may stand anywhere. */
export function* decodeMp4(input: ByteInput, remarks: Remarks): Generator<Sound, void, undefined> {
  let play: ((place: SamplePlace) => Generator<Sound, void, undefined>) | undefined;
  let track: SoundTrack | undefined;
  let waiting: readonly SamplePlace[] = [];
  for (;;) {
    const at = input.at();
    const head = readHead(input);
    if (head === 'end') break;
    if (head === 'cut') {
      if (track) remarks.cutOff();
      break;
    }
    const { name, bodyBytes } = head;
    if (name === 'moov' && !track) {
      track = findSoundTrack(readWhole(input, bodyBytes));
      play = createPlayer(input, remarks, track);
      if (track.samples.count > 0) {
        for (const place of track.samples.places()) yield* play(place);
        return;
      }
    } else if (name === 'moof' && track) {
      waiting = placesOfFragment(readWhole(input, bodyBytes), at, track);
    } else if (name === 'mdat' && play && waiting.length > 0) {
      const end = input.at() + bodyBytes;
      for (const place of waiting) yield* play(place);
      waiting = [];
      if (end === Infinity || end < input.at()) break;
      input.seek(end);
    } else if (bodyBytes === Infinity || !input.skip(bodyBytes)) {
      if (track) remarks.cutOff();
      break;
    }
  }
  if (!track) throw damaged('has no index: its end is missing, or all of it');
}

interface BoxHead {
  readonly name: string;
  /** Infinity where it goes on to the end of the file. */
  readonly bodyBytes: number;
}

function readHead(input: ByteInput): BoxHead | 'end' | 'cut' {
  const head = input.read(8);
  if (head.length === 0) return 'end';
  if (head.length < 8) return 'cut';
  const short = new DataView(head.buffer).getUint32(0);
  const name = String.fromCharCode(...head.subarray(4));
  if (short === 0) return { name, bodyBytes: Infinity };
  if (short !== 1) {
    if (short < 8) throw damaged('has a box that is none');
    return { name, bodyBytes: short - 8 };
  }
  const long = input.read(8);
  if (long.length < 8) return 'cut';
  const bytes = Number(new DataView(long.buffer).getBigUint64(0));
  if (bytes < 16) throw damaged('has a box that is none');
  return { name, bodyBytes: bytes - 16 };
}

function readWhole(input: ByteInput, bytes: number): DataView {
  if (bytes > AUDIO_INDEX_BYTES_MAX) throw damaged('has an index that is too large');
  const body = input.read(bytes);
  if (body.length < bytes) throw damaged('has no whole index: its end is missing');
  return new DataView(body.buffer, body.byteOffset, body.byteLength);
}

/** Decodes samples in their order, and leaves away what is not played. */
function createPlayer(
  input: ByteInput,
  remarks: Remarks,
  { config, from, to }: SoundTrack,
): (place: SamplePlace) => Generator<Sound, void, undefined> {
  const { sampleRate } = config;
  const decoder = createAacDecoder(config);
  const [first, last] = [Math.round(from * sampleRate), to === Infinity ? Infinity : Math.round(to * sampleRate)];
  let made = 0;
  let isCut = false;
  remarks.written('aac');

  return function* play({ at, bytes }) {
    if (isCut || made >= last) return;
    if (bytes > AUDIO_PACKET_BYTES_MAX) throw damaged('has a packet that is too large');
    if (bytes === 0) return;
    input.seek(at);
    const frame = input.read(bytes);
    if (frame.length < bytes) {
      isCut = true;
      return remarks.cutOff();
    }
    const channels = decodeFrame(decoder, frame, remarks);
    if (decoder.hasUpperBands()) remarks.lowerHalf();
    const count = channels[0]?.length ?? 0;
    const [begin, end] = [Math.max(0, first - made), Math.min(count, last - made)];
    made += count;
    if (end > begin) yield { sampleRate, channels: channels.map((samples) => samples.subarray(begin, end)) };
  };
}
