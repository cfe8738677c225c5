import { damaged } from '../unreadable.ts';
import { createDecodeVorbis, type DecodeVorbis } from '../vorbis/vorbis-decoder.ts';
import { readVorbisHead } from '../vorbis/vorbis-setup.ts';
import type { OggCodec } from './ogg-codec.ts';

const TAGS = 3;
const SETUP = 5;

/** A stream of Vorbis, of which the first packet is given; the next two are tags and its codes. @throws Unreadable */
export function openVorbis(head: Uint8Array): OggCodec {
  const facts = readVorbisHead(head);
  let decode: DecodeVorbis | undefined;
  return {
    samplesAt: (position) => position,
    close: () => undefined,
    push(packet) {
      if (!decode) {
        if (packet[0] === TAGS) return undefined;
        if (packet[0] !== SETUP) throw damaged('does not say how its sound is written');
        decode = createDecodeVorbis(facts, packet);
        return undefined;
      }
      // An empty packet stands for one that was lost.
      if (packet.length === 0 || (packet[0] ?? 0) & 1) return undefined;
      const channels = decode(packet);
      return channels.length > 0 ? { sampleRate: facts.sampleRate, channels } : undefined;
    },
  };
}
