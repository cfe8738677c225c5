/** Reason class of a decoding failure. */
export type AudioFaultKind = 'empty' | 'unsupported' | 'damaged' | 'too-long' | 'too-costly';

/** A recording that cannot be decoded. The message completes a sentence for the caller that starts with `The audio`. */
export class AudioDecodingError extends Error {
  override readonly name = 'AudioDecodingError';
  readonly fault: AudioFaultKind;

  constructor(fault: AudioFaultKind, message: string) {
    super(message);
    this.fault = fault;
  }
}

export const createDamagedError = (message: string): AudioDecodingError => new AudioDecodingError('damaged', message);
export const createUnsupportedError = (message: string): AudioDecodingError =>
  new AudioDecodingError('unsupported', message);
