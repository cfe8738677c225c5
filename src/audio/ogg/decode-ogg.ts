import type { ByteInput } from '../byte-input.ts';
import type { Remarks, Sound } from '../recording.ts';
import { damaged, Unreadable, unsupported } from '../unreadable.ts';
import type { OggCodec } from './ogg-codec.ts';
import { readOggPackets } from './ogg-packets.ts';
import { openOpus } from './opus.ts';
import { openVorbis } from './vorbis.ts';

/** What else stands in such files, for the reason why it is not read. */
const OTHERS: readonly (readonly [start: string, name: string])[] = [
  ['\x7fFLAC', 'FLAC in Ogg'],
  ['Speex   ', 'Speex'],
  ['\x80theora', 'a film without sound'],
];

/** Ours: packets in a row that are damaged. Beyond: what follows is no sound. */
const DAMAGED_MAX = 500;

/** The first stream of sound of an Ogg file, and those that follow on it. */
export async function* decodeOgg(input: ByteInput, remarks: Remarks): AsyncGenerator<Sound, void, undefined> {
  let codec: OggCodec | undefined;
  let stream: number | undefined;
  let other = '';
  let made = 0;
  let damagedInRow = 0;
  try {
    for (const packet of readOggPackets(input, remarks)) {
      if (packet.isFirst && stream === undefined) {
        const opened = await open(packet.bytes, remarks);
        if (typeof opened === 'string') other ||= opened;
        else {
          codec?.close();
          [codec, stream, made] = [opened, packet.stream, 0];
        }
        continue;
      }
      if (!codec || packet.stream !== stream) continue;
      let sound: Sound | undefined;
      try {
        sound = codec.push(packet.bytes);
        damagedInRow = 0;
      } catch (error) {
        if (!(error instanceof Unreadable) || error.fault !== 'damaged' || made === 0) throw error;
        if (++damagedInRow > DAMAGED_MAX) throw error;
        remarks.lost(0);
      }
      if (sound) {
        const count = sound.channels[0]?.length ?? 0;
        const end = packet.isLast && packet.position !== undefined ? codec.samplesAt(packet.position) : Infinity;
        // The last block is longer than what is left of the recording.
        const kept = Math.max(0, Math.min(count, end - made));
        made += count;
        if (kept > 0) yield { ...sound, channels: sound.channels.map((samples) => samples.subarray(0, kept)) };
      }
      if (packet.isLast) stream = undefined;
    }
    if (!codec) throw other === '' ? damaged('has no stream of sound') : unsupported(`is ${other}, which is not read`);
  } finally {
    codec?.close();
  }
}

/** @returns the name of what is not read. */
async function open(head: Uint8Array, remarks: Remarks): Promise<OggCodec | string> {
  if (startsWith(head, 'OpusHead')) {
    remarks.written('opus');
    return openOpus(head);
  }
  if (startsWith(head, '\x01vorbis')) {
    remarks.written('vorbis');
    return openVorbis(head);
  }
  return OTHERS.find(([start]) => startsWith(head, start))?.[1] ?? 'an Ogg file of another kind';
}

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  String.fromCharCode(...bytes.subarray(0, text.length)) === text;
