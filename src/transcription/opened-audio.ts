import type { AudioReport } from '../audio/audio.ts';
import type { AudioSource, DecodeAudio } from '../audio/decode-audio.ts';
import type { AudioFacts } from '../core/speech.ts';

/** The caller's audio is at fault. The message is a sentence for the caller. */
export class UnreadableAudio extends Error {
  override readonly name = 'UnreadableAudio';
}

/** An audio while it is heard. */
export interface OpenedAudio {
  /** Mono samples of `SPEECH_SAMPLE_RATE`; read once. @throws UnreadableAudio; what the source throws. */
  readonly blocks: AsyncIterable<Float32Array>;
  /** Behind the last block. */
  facts(): Omit<AudioFacts, 'channels'>;
}

/** @param channel From 0; undefined: all of them together. */
export type OpenAudio = (
  source: AudioSource,
  wish: { readonly channel: number | undefined; readonly signal: AbortSignal },
) => OpenedAudio;

/** Audios of all kinds that are decoded here, as samples. */
export function createOpenAudio(decode: DecodeAudio): OpenAudio {
  return (source, { channel, signal }) => {
    let report: AudioReport | undefined;
    async function* blocks(): AsyncGenerator<Float32Array> {
      for await (const event of decode(source, { signal, channel: channel ?? 'mix' })) {
        if (event.type === 'sound') yield event.samples;
        else if (event.type === 'failed') throw new UnreadableAudio(event.reason);
        else report = event.report;
      }
    }
    return {
      blocks: blocks(),
      facts() {
        if (!report) throw new Error('the audio was not heard to its end');
        const { codec, sampleRate, durationMs } = report;
        return { format: codec, sampleRate, durationMs };
      },
    };
  };
}
