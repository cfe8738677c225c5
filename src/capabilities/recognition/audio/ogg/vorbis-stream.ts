import { createNoCodecError } from '../audio-decoding-error.ts';
import { createVorbisDecoder, type VorbisDecoder } from '../vorbis/vorbis-decoder.ts';
import { parseIdentificationHeader } from '../vorbis/vorbis-setup.ts';
import type { OggStreamDecoder } from './ogg-stream-decoder.ts';

const COMMENT_HEADER = 3;
const SETUP_HEADER = 5;

/**
 * Opens a Vorbis stream by its identification header; a comment and a setup header follow.
 * @throws AudioDecodingError
 */
export function openVorbisStream(header: Uint8Array): OggStreamDecoder {
  const info = parseIdentificationHeader(header);
  let decode: VorbisDecoder | undefined;
  return {
    granuleToSamples: (position) => position,
    close: () => undefined,
    push(packet) {
      if (!decode) {
        if (packet[0] === COMMENT_HEADER) return undefined;
        if (packet[0] !== SETUP_HEADER) throw createNoCodecError();
        decode = createVorbisDecoder(info, packet);
        return undefined;
      }
      // An empty packet stands for a lost one.
      if (packet.length === 0 || (packet[0] ?? 0) & 1) return undefined;
      const channels = decode(packet);
      return channels.length > 0 ? { sampleRate: info.sampleRate, channels } : undefined;
    },
  };
}
