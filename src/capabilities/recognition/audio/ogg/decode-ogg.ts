import type { ByteInput } from '../byte-input.ts';
import type { DecodingReporter, DecodedBlock } from '../format-decoder.ts';
import { createDamagedError, AudioDecodingError, createUnsupportedFormatError } from '../audio-decoding-error.ts';
import type { OggStreamDecoder } from './ogg-stream-decoder.ts';
import { readOggPackets } from './ogg-packets.ts';
import { openOpusStream } from './opus-stream.ts';
import { openVorbisStream } from './vorbis-stream.ts';

/** Known codecs that are not supported, by the start of their first packet. */
const UNSUPPORTED_CODECS: readonly (readonly [start: string, name: string])[] = [
  ['\x7fFLAC', 'FLAC in Ogg'],
  ['Speex   ', 'Speex'],
  ['\x80theora', 'a video without audio'],
];

/** Maximum number of consecutive damaged packets. */
const DAMAGED_PACKETS_MAX = 500;

/** Decodes the first audio stream of an Ogg file, and the streams chained to it. */
export async function* decodeOgg(
  input: ByteInput,
  reporter: DecodingReporter,
): AsyncGenerator<DecodedBlock, void, undefined> {
  let decoder: OggStreamDecoder | undefined;
  let serialNumber: number | undefined;
  let unsupportedCodec = '';
  let decodedCount = 0;
  let damagedInRow = 0;
  try {
    for (const packet of readOggPackets(input, reporter)) {
      if (packet.isFirst && serialNumber === undefined) {
        const opened = await openStream(packet.bytes, reporter);
        if (typeof opened === 'string') unsupportedCodec ||= opened;
        else {
          decoder?.close();
          [decoder, serialNumber, decodedCount] = [opened, packet.serialNumber, 0];
        }
        continue;
      }
      if (!decoder || packet.serialNumber !== serialNumber) continue;
      let sound: DecodedBlock | undefined;
      try {
        sound = decoder.push(packet.bytes);
        damagedInRow = 0;
      } catch (error) {
        if (!(error instanceof AudioDecodingError) || error.fault !== 'damaged' || decodedCount === 0) throw error;
        if (++damagedInRow > DAMAGED_PACKETS_MAX) throw error;
        reporter.reportLoss(0);
      }
      if (sound) {
        const count = sound.channels[0]?.length ?? 0;
        const end =
          packet.isLast && packet.granulePosition !== undefined
            ? decoder.granuleToSamples(packet.granulePosition)
            : Infinity;
        // Discard the samples of the last block after the end of the recording.
        const keptSamples = Math.max(0, Math.min(count, end - decodedCount));
        decodedCount += count;
        if (keptSamples > 0)
          yield { ...sound, channels: sound.channels.map((samples) => samples.subarray(0, keptSamples)) };
      }
      if (packet.isLast) serialNumber = undefined;
    }
    if (!decoder)
      throw unsupportedCodec === ''
        ? createDamagedError('has no audio stream')
        : createUnsupportedFormatError(unsupportedCodec);
  } finally {
    decoder?.close();
  }
}

/** Opens a stream by its first packet. Returns the name of an unsupported codec as a string. */
async function openStream(header: Uint8Array, reporter: DecodingReporter): Promise<OggStreamDecoder | string> {
  if (startsWith(header, 'OpusHead')) {
    reporter.reportCodec('opus');
    return openOpusStream(header);
  }
  if (startsWith(header, '\x01vorbis')) {
    reporter.reportCodec('vorbis');
    return openVorbisStream(header);
  }
  return UNSUPPORTED_CODECS.find(([start]) => startsWith(header, start))?.[1] ?? 'an Ogg file with an unknown codec';
}

const startsWith = (bytes: Uint8Array, text: string): boolean =>
  String.fromCharCode(...bytes.subarray(0, text.length)) === text;
