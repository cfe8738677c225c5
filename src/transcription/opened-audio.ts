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
  facts(): Promise<Omit<AudioFacts, 'channels'>>;
}

/** @param channel From 0; undefined: all of them together. */
export type OpenAudio = (
  open: () => Promise<AsyncIterable<Uint8Array>>,
  wish: { readonly channel: number | undefined; readonly signal: AbortSignal },
) => OpenedAudio;
