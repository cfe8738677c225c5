import { createDecoderStream } from '../audio/decoder-stream.ts';
import { openPcmStream } from './pcm-stream.ts';
import type { OpenAudioStream } from './realtime-audio-stream.ts';

/** Formats that need a decoder process. */
const DECODED_FORMATS: readonly string[] = ['mp3', 'aac', 'opus'];

/** Opens an audio stream in a format. @throws ServiceError `unsupported` for an unsupported format. */
export const openAudioStream: OpenAudioStream = (format) =>
  DECODED_FORMATS.includes(format.format) ? createDecoderStream() : openPcmStream(format);
