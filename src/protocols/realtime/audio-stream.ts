/** Audio as it comes in over a connection, made into samples of `SPEECH_SAMPLE_RATE`. */
export interface AudioStream {
  /** The samples that are whole now. @throws ServiceError `invalid-request` for what is no such audio. */
  push(bytes: Uint8Array): Promise<Float32Array>;
  /** Nothing comes any more: what is left. */
  end(): Promise<Float32Array>;
  /** Lets go of it, in the middle or behind its end. */
  close(): void;
}

export interface AudioForm {
  /** In lower case, e.g. `pcm`. */
  readonly format: string;
  /** As the caller says; a format that says it itself knows better. */
  readonly sampleRate: number;
}

/** @throws ServiceError `unsupported` for a format that nothing here reads. */
export type OpenAudioStream = (form: AudioForm) => AudioStream;
