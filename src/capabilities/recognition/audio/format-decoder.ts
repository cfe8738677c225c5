import type { ByteInput } from './byte-input.ts';

/** File format of a recording. */
export type AudioFileFormat = 'wav' | 'mp3' | 'flac' | 'ogg' | 'aac' | 'mp4';

/**
 * A block of audio: all channels have the same number of samples. Full scale is -1 to 1; samples may exceed it slightly.
 */
export interface DecodedBlock {
  /** Hz. */
  readonly sampleRate: number;
  readonly channels: readonly Float32Array[];
}

/** Receives observations of a decoder. */
export interface DecodingReporter {
  /** The end of the file is missing; the part before it is complete. */
  reportTruncated(): void;
  /**
   * Reports that samples of each channel were lost and replaced by silence; 0: a part of unknown length was skipped.
   */
  reportLoss(samples: number): void;
  /** Only the AAC core of an HE-AAC file was decoded: the lower half of the frequencies. */
  reportCoreOnly(): void;
  /** Reports the codec, for example `pcm_s16le`. */
  reportCodec(codec: string): void;
}

/** Decodes a recording from its first byte on. @throws AudioDecodingError */
export type FormatDecoder = (
  input: ByteInput,
  reporter: DecodingReporter,
) => Iterable<DecodedBlock> | AsyncIterable<DecodedBlock>;
