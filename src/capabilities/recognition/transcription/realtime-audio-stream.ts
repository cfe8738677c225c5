import type { AudioStream } from '../audio/decoder-stream.ts';

/** Events of decoded audio: any number of `sound`, then one `end` or `failed`. */
export type RealtimeAudioEvent =
  /** Mono samples at `SPEECH_SAMPLE_RATE`. */
  | { readonly type: 'sound'; readonly samples: Float32Array }
  | { readonly type: 'end' }
  /** `reason` is a sentence for the client. */
  | { readonly type: 'failed'; readonly reason: string };

/** Decodes audio that arrives over a connection. */
export type RealtimeAudioStream = AudioStream<RealtimeAudioEvent>;

export interface RealtimeAudioFormat {
  /** In lower case, such as `pcm`. */
  readonly format: string;
  /** Rate in the request; a format with its own header overrides it. */
  readonly sampleRate: number;
}

/** @throws ServiceError `unsupported` for an unknown format. */
export type OpenAudioStream = (format: RealtimeAudioFormat) => RealtimeAudioStream;
