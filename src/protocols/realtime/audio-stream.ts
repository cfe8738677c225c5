/** What comes of audio, in this order: sound, then one of the others, and nothing behind it. */
export type AudioEvent =
  /** Mono, of `SPEECH_SAMPLE_RATE`. */
  | { readonly type: 'sound'; readonly samples: Float32Array }
  | { readonly type: 'end' }
  /** A sentence for whoever sent it. */
  | { readonly type: 'failed'; readonly reason: string };

/** Audio as it comes in over a connection, on its way to what can be heard. */
export interface AudioStream {
  /** Resolves when more may come; the bytes are the stream's then. */
  push(bytes: Uint8Array): Promise<void>;
  /** No more bytes come. */
  end(): Promise<void>;
  /** To be read once. */
  readonly events: AsyncIterable<AudioEvent>;
  /** Ends it at once. To be called in any case. */
  close(): Promise<void>;
}

export interface AudioForm {
  /** In lower case, e.g. `pcm`. */
  readonly format: string;
  /** As the caller says; a format that says it itself knows better. */
  readonly sampleRate: number;
}

/** @throws ServiceError `unsupported` for a format that nothing here reads. */
export type OpenAudioStream = (form: AudioForm) => AudioStream;
