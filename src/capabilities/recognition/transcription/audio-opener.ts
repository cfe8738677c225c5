import type { DecodingReport } from '../audio/audio.ts';
import type { AudioSource, AudioDecoder } from '../audio/audio-decoder.ts';
import type { AudioMetadata } from '../../../core/speech.ts';

/** The caller's audio cannot be decoded. The message is a sentence for the caller. */
export class UnreadableAudioError extends Error {
  override readonly name = 'UnreadableAudio';
}

/** Audio that is being decoded. */
export interface AudioReader {
  /** Mono samples of `SPEECH_SAMPLE_RATE`; can be read once. @throws UnreadableAudioError; errors of the source. */
  readonly blocks: AsyncIterable<Float32Array>;
  /** Returns the properties of the audio after the last block. @throws Error before that. */
  getMetadata(): Omit<AudioMetadata, 'channels'>;
}

/** Opens an audio. @param channel Channel from 0; undefined: all channels mixed. */
export type AudioOpener = (
  source: AudioSource,
  options: { readonly workspace: string; readonly channel: number | undefined; readonly signal: AbortSignal },
) => AudioReader;

/** Creates an opener for all supported formats. */
export function createAudioOpener(decode: AudioDecoder): AudioOpener {
  return (source, { workspace, channel, signal }) => {
    let report: DecodingReport | undefined;
    async function* blocks(): AsyncGenerator<Float32Array> {
      for await (const event of decode(source, { workspace, signal, channel: channel ?? 'mix' })) {
        if (event.type === 'sound') yield event.samples;
        else if (event.type === 'failed') throw new UnreadableAudioError(event.reason);
        else report = event.report;
      }
    }
    return {
      blocks: blocks(),
      getMetadata() {
        if (!report) throw new Error('the audio was not read to its end');
        const { codec, sampleRate, durationMs } = report;
        return { format: codec, sampleRate, durationMs };
      },
    };
  };
}
