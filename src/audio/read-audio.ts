import { AUDIO_CHANNELS_MAX, AUDIO_RATE_MAX, AUDIO_RATE_MIN } from '../core/limits.ts';
import { SPEECH_SAMPLE_RATE } from '../core/speech.ts';
import { decodeAdts } from './aac/adts.ts';
import type { AudioEnd, ChannelChoice } from './audio.ts';
import type { ByteInput } from './byte-input.ts';
import { decodeFlac } from './flac/decode-flac.ts';
import { mix } from './mix.ts';
import { decodeMp4 } from './mp4/decode-mp4.ts';
import type { AudioKind, DecodeSound, Remarks } from './recording.ts';
import { createResampler, type Resampler } from './resampler.ts';
import { decodeWav } from './wav.ts';
import { sniff } from './sniff.ts';
import { Unreadable, unsupported } from './unreadable.ts';

export interface ReadingWish {
  readonly channel: ChannelChoice;
  readonly secondsMax: number;
  /** Samples that are handed on at once. */
  readonly blockSamples: number;
  /** One channel at SPEECH_SAMPLE_RATE; blocks of the length that was wished for, and a shorter one at the end. */
  readonly emit: (block: Float32Array) => void;
}

/**
 * Decodes a recording, whatever it is. What it takes is bounded by whoever runs it: this is for a process of its own.
 * @throws whatever the input or `emit` throws, and a library.
 */
export async function readAudio(input: ByteInput, wish: ReadingWish): Promise<AudioEnd> {
  const remarks = createRemarks();
  const blocks = createBlocks(wish);
  let kind: AudioKind | undefined;
  let first: { readonly sampleRate: number; readonly channels: number } | undefined;
  let soundSamples = 0;
  let trouble: Unreadable | undefined;
  try {
    kind = sniff(input);
    const decode = await decoderOf(kind);
    let resampler: Resampler | undefined;
    let rate = 0;
    for await (const { sampleRate, channels } of decode(input, remarks)) {
      if (channels.length > AUDIO_CHANNELS_MAX)
        throw unsupported(`has ${channels.length} channels, of 1 to ${AUDIO_CHANNELS_MAX}`);
      first ??= { sampleRate, channels: channels.length };
      if (!resampler || rate !== sampleRate) {
        requireRate(sampleRate);
        if (resampler) blocks.push(resampler.end());
        resampler = createResampler({ from: sampleRate, to: SPEECH_SAMPLE_RATE });
        rate = sampleRate;
      }
      soundSamples += channels[0]?.length ?? 0;
      blocks.push(resampler.push(mix(channels, wish.channel)));
    }
    if (resampler) blocks.push(resampler.end());
  } catch (error) {
    if (!(error instanceof Unreadable)) throw error;
    trouble = error;
  }
  blocks.end();
  const { lostSamples, ...told } = remarks.told();
  const isAllLost = soundSamples > 0 && lostSamples >= soundSamples;
  // What is damaged further on ends a recording that was whole so far.
  const isFailed = trouble !== undefined && (trouble.fault === 'too-long' || blocks.count() === 0);
  if (trouble && isFailed) return failed(trouble);
  if (!kind || !first || isAllLost || blocks.count() === 0) {
    return failed(new Unreadable('damaged', told.isCutOff ? 'ends before its sound begins' : 'has no sound'));
  }
  const samples = blocks.count();
  return {
    type: 'end',
    report: {
      kind,
      ...first,
      samples,
      durationMs: Math.round((samples * 1_000) / SPEECH_SAMPLE_RATE),
      ...told,
      isCutOff: told.isCutOff || trouble !== undefined,
    },
  };
}

const failed = ({ fault, message }: Unreadable): AudioEnd => ({
  type: 'failed',
  fault,
  reason: `The audio ${message}.`,
});

function requireRate(sampleRate: number): void {
  if (sampleRate >= AUDIO_RATE_MIN && sampleRate <= AUDIO_RATE_MAX && Number.isInteger(sampleRate)) return;
  throw unsupported(`has a sampling rate of ${sampleRate} Hz, of ${AUDIO_RATE_MIN} to ${AUDIO_RATE_MAX}`);
}

/** What takes a library is loaded when it is needed. */
async function decoderOf(kind: AudioKind): Promise<DecodeSound> {
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

interface Told {
  readonly codec: string;
  readonly isCutOff: boolean;
  readonly damagedPlaces: number;
  readonly isLowerHalf: boolean;
  readonly lostSamples: number;
}

function createRemarks(): Remarks & { told(): Told } {
  let codec = '';
  let isCutOff = false;
  let damagedPlaces = 0;
  let lostSamples = 0;
  let isLowerHalf = false;
  return {
    cutOff: () => void (isCutOff = true),
    lowerHalf: () => void (isLowerHalf = true),
    written: (name) => void (codec ||= name),
    lost(samples) {
      damagedPlaces++;
      lostSamples += samples;
    },
    told: () => ({ codec, isCutOff, damagedPlaces, isLowerHalf, lostSamples }),
  };
}

interface Blocks {
  push(samples: Float32Array): void;
  end(): void;
  /** Samples so far. */
  count(): number;
}

function createBlocks({ blockSamples, secondsMax, emit }: ReadingWish): Blocks {
  let block = new Float32Array(blockSamples);
  let filled = 0;
  let count = 0;
  return {
    count: () => count,
    push(samples) {
      count += samples.length;
      if (count > secondsMax * SPEECH_SAMPLE_RATE) {
        throw new Unreadable('too-long', `is longer than ${secondsMax} seconds, which is the most that is read`);
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
