import type { AudioFileFormat } from './format-decoder.ts';
import type { AudioFaultKind } from './audio-decoding-error.ts';

/** Properties of a decoded recording. */
export interface DecodingReport {
  readonly kind: AudioFileFormat;
  /** Codec, in common notation: `pcm_s16le`, `mp3`, `flac`, `vorbis`, `opus`, `aac`. */
  readonly codec: string;
  /** Sample rate in Hz and number of channels of the file; the first ones if they change within the file. */
  readonly sampleRate: number;
  readonly channels: number;
  /** Number of decoded samples at SPEECH_SAMPLE_RATE. */
  readonly samples: number;
  readonly durationMs: number;
  /** The end of the file is missing or damaged; only the part before it was decoded. */
  readonly isTruncated: boolean;
  /** Number of damaged parts, which were skipped or replaced by silence. */
  readonly damagedPartCount: number;
  /** Only the AAC core of an HE-AAC file was decoded: the lower half of the frequencies, which suffices for speech. */
  readonly isCoreOnly: boolean;
}

/** Events of decoding a recording: samples, then exactly one other event. */
export type DecodedAudioEvent =
  /** Samples of one channel at SPEECH_SAMPLE_RATE, about ±1. */
  | { readonly type: 'sound'; readonly samples: Float32Array }
  | { readonly type: 'end'; readonly report: DecodingReport }
  /** `reason`: a sentence for the caller. */
  | { readonly type: 'failed'; readonly fault: AudioFaultKind; readonly reason: string };

export type DecodingEnd = Exclude<DecodedAudioEvent, { readonly type: 'sound' }>;

/** All channels mixed, or the number of one channel from 0. */
export type ChannelSelection = 'mix' | number;

/** Limits of decoding one recording. Exceeding one is a failure. */
export interface DecodingLimits {
  readonly sourceBytesMax: number;
  readonly secondsMax: number;
  /** CPU time in ms: a base, and an extra per second of audio and per MiB read. */
  readonly cpuMsBase: number;
  readonly cpuMsPerSecond: number;
  readonly cpuMsPerMib: number;
  /** Time without any progress, in ms. */
  readonly stallMs: number;
  readonly residentBytesMax: number;
}
