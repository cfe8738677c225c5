import { AUDIO_CHANNELS_MAX, AUDIO_RATE_CHANGES_MAX, AUDIO_RATE_MAX, AUDIO_RATE_MIN } from './limits.ts';
import { SPEECH_SAMPLE_RATE } from '../../../core/speech.ts';
import { decodeAdts } from './aac/decode-adts.ts';
import type { DecodingEnd, ChannelSelection } from './audio.ts';
import type { ByteInput } from './byte-input.ts';
import { decodeFlac } from './flac/decode-flac.ts';
import { selectChannel } from './select-channel.ts';
import { decodeMp4 } from './mp4/decode-mp4.ts';
import type { AudioFileFormat, FormatDecoder, DecodingReporter } from './format-decoder.ts';
import { createResampler, type Resampler } from './resampler.ts';
import { decodeWav } from './decode-wav.ts';
import { detectFormat } from './detect-format.ts';
import {
  AudioDecodingError,
  createUnsupportedError,
  createChannelsError,
  createNoAudioDataError,
  createDamagedError,
} from './audio-decoding-error.ts';

export interface ReadAudioOptions {
  readonly channel: ChannelSelection;
  readonly secondsMax: number;
  /** Samples per block. */
  readonly blockSamples: number;
  /** Receives blocks of one channel at SPEECH_SAMPLE_RATE; all but the last have `blockSamples` samples. */
  readonly emit: (block: Float32Array) => void;
}

/**
 * Decodes a recording of any supported format. Its CPU time and memory are not limited here, so it must run in a
 * separate process.
 * @throws errors of the input, of `emit` and of decoder libraries.
 */
export async function readAudio(input: ByteInput, options: ReadAudioOptions): Promise<DecodingEnd> {
  const reporter = createReporter();
  const blocks = createBlockBuffer(options);
  let kind: AudioFileFormat | undefined;
  let first: { readonly sampleRate: number; readonly channels: number } | undefined;
  let decodedSamples = 0;
  let failure: AudioDecodingError | undefined;
  try {
    kind = detectFormat(input);
    const decode = await loadDecoder(kind);
    let resampler: Resampler | undefined;
    let rate = 0;
    let rateChanges = 0;
    for await (const { sampleRate, channels } of decode(input, reporter)) {
      if (channels.length > AUDIO_CHANNELS_MAX) throw createChannelsError(channels.length);
      first ??= { sampleRate, channels: channels.length };
      if (!resampler || rate !== sampleRate) {
        checkSampleRate(sampleRate);
        if (resampler) {
          blocks.push(resampler.end());
          rateChanges++;
          if (rateChanges > AUDIO_RATE_CHANGES_MAX)
            throw new AudioDecodingError(
              'too-costly',
              `changes its sample rate more than ${AUDIO_RATE_CHANGES_MAX} times`,
            );
        }
        resampler = createResampler({ from: sampleRate, to: SPEECH_SAMPLE_RATE });
        rate = sampleRate;
      }
      decodedSamples += channels[0]?.length ?? 0;
      blocks.push(resampler.push(selectChannel(channels, options.channel)));
    }
    if (resampler) blocks.push(resampler.end());
  } catch (error) {
    if (!(error instanceof AudioDecodingError)) throw error;
    failure = error;
  }
  blocks.end();
  const { lostSamples, ...notes } = reporter.getState();
  const isEverythingLost = decodedSamples > 0 && lostSamples >= decodedSamples;
  // A defect after valid audio only ends the recording.
  const isOverLimit = failure?.fault === 'too-long' || failure?.fault === 'too-costly';
  const isFailed = failure !== undefined && (isOverLimit || blocks.count() === 0);
  if (failure && isFailed) return createFailure(failure);
  if (!kind || !first || isEverythingLost || blocks.count() === 0) {
    return createFailure(notes.isTruncated ? createNoAudioDataError() : createDamagedError('has no audio data'));
  }
  const samples = blocks.count();
  return {
    type: 'end',
    report: {
      kind,
      ...first,
      samples,
      durationMs: Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE),
      ...notes,
      isTruncated: notes.isTruncated || failure !== undefined,
    },
  };
}

const createFailure = ({ fault, message }: AudioDecodingError): DecodingEnd => ({
  type: 'failed',
  fault,
  reason: `The audio ${message}.`,
});

function checkSampleRate(sampleRate: number): void {
  if (sampleRate >= AUDIO_RATE_MIN && sampleRate <= AUDIO_RATE_MAX && Number.isInteger(sampleRate)) return;
  throw createUnsupportedError(
    `has a sample rate of ${sampleRate} Hz; ${AUDIO_RATE_MIN} to ${AUDIO_RATE_MAX} Hz are supported`,
  );
}

/** Decoders with libraries are loaded when needed. */
async function loadDecoder(kind: AudioFileFormat): Promise<FormatDecoder> {
  switch (kind) {
    case 'wav':
      return decodeWav;
    case 'flac':
      return decodeFlac;
    case 'aac':
      return decodeAdts;
    case 'mp4':
      return decodeMp4;
    case 'mp3':
      return (await import('./mp3/decode-mp3.ts')).decodeMp3;
    case 'ogg':
      return (await import('./ogg/decode-ogg.ts')).decodeOgg;
  }
}

/** Creates a reporter that collects what a decoder reports. */
function createReporter() {
  let codec = '';
  let isTruncated = false;
  let damagedPartCount = 0;
  let lostSamples = 0;
  let isCoreOnly = false;
  const reporter: DecodingReporter = {
    reportTruncated: () => void (isTruncated = true),
    reportCoreOnly: () => void (isCoreOnly = true),
    reportCodec: (name) => void (codec ||= name),
    reportLoss(samples) {
      damagedPartCount++;
      lostSamples += samples;
    },
  };
  const getState = () => ({ codec, isTruncated, damagedPartCount, isCoreOnly, lostSamples });
  return { ...reporter, getState };
}

interface BlockBuffer {
  push(samples: Float32Array): void;
  end(): void;
  /** Number of samples so far. */
  count(): number;
}

function createBlockBuffer({ blockSamples, secondsMax, emit }: ReadAudioOptions): BlockBuffer {
  let block = new Float32Array(blockSamples);
  let filled = 0;
  let count = 0;
  return {
    count: () => count,
    push(samples) {
      count += samples.length;
      if (count > secondsMax * SPEECH_SAMPLE_RATE) {
        throw new AudioDecodingError('too-long', `is longer than ${secondsMax} seconds, the maximum length`);
      }
      for (let at = 0; at < samples.length;) {
        const part = samples.subarray(at, at + block.length - filled);
        block.set(part, filled);
        filled += part.length;
        at += part.length;
        if (filled < block.length) return;
        emit(block);
        block = new Float32Array(blockSamples);
        filled = 0;
      }
    },
    end() {
      if (filled > 0) emit(block.subarray(0, filled));
      filled = 0;
    },
  };
}
