import { createAudioStream, type AudioStream } from '../audio/audio-stream.ts';
import { openPcmStream, type PcmStream } from './pcm-stream.ts';

/** What a process of its own decodes; samples that stand as they are need none. */
const DECODED: readonly string[] = ['mp3', 'aac', 'opus'];

/** Audio that comes in pieces, as samples of speech. @throws ServiceError `unsupported` for a format that is not read here. */
export function openAudioStream(form: {
  readonly format: string;
  readonly sampleRate: number;
}): AudioStream | PcmStream {
  return DECODED.includes(form.format) ? createAudioStream() : openPcmStream(form);
}
