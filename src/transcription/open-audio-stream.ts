import { createAudioStream, type AudioStream, type StreamFormat } from '../audio/audio-stream.ts';
import { openPcmStream, type PcmStream } from './pcm-stream.ts';

/** What a process of its own decodes; samples that stand as they are need none. */
const DECODED: readonly StreamFormat[] = ['mp3', 'aac', 'opus'];

/** Audio that comes in pieces, as samples of speech. @throws ServiceError `unsupported` for a format that is not read here. */
export function openAudioStream(form: {
  readonly format: string;
  readonly sampleRate: number;
}): AudioStream | PcmStream {
  const decoded = DECODED.find((format) => format === form.format);
  return decoded ? createAudioStream(decoded, form.sampleRate) : openPcmStream(form);
}
