import { AUDIO_CHANNELS_MAX } from './limits.ts';

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

export const createNoAudioDataError = (): AudioDecodingError => createDamagedError('ends before its audio data');
export const createNoSampleFormatError = (): AudioDecodingError =>
  createDamagedError('does not describe its sample format');
export const createNoCodecError = (): AudioDecodingError => createDamagedError('does not describe its codec');
export const createNoFrameError = (): AudioDecodingError => createDamagedError('has no frame where one is expected');
export const createSampleRateError = (): AudioDecodingError => createDamagedError('has an invalid sample rate');
export const createCodebookError = (): AudioDecodingError => createDamagedError('has a frame with an invalid codebook');
export const createNoCodebookError = (): AudioDecodingError => createDamagedError('refers to a missing codebook');
export const createPacketSizeError = (): AudioDecodingError => createDamagedError('has a packet that is too large');

/** Creates the error of a format or codec that has a name and no decoder. */
export const createUnsupportedFormatError = (name: string): AudioDecodingError =>
  createUnsupportedError(`is ${name}, which is not supported`);

export const createChannelsError = (channels: number): AudioDecodingError =>
  createUnsupportedError(`has ${channels} channels; 1 to ${AUDIO_CHANNELS_MAX} are supported`);
