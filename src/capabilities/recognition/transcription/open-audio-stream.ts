import { createDecoderStream, type DecoderStream } from '../audio/decoder-stream.ts';
import { openPcmStream, type PcmStream } from './pcm-stream.ts';

/** Formats that need a decoder process. */
const DECODED_FORMATS: readonly string[] = ['mp3', 'aac', 'opus'];

/** Opens an audio stream in a format. @throws ServiceError `unsupported` for an unsupported format. */
export function openAudioStream(format: {
  readonly format: string;
  readonly sampleRate: number;
}): DecoderStream | PcmStream {
  return DECODED_FORMATS.includes(format.format) ? createDecoderStream() : openPcmStream(format);
}
