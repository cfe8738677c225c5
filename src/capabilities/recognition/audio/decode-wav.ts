import { AUDIO_CHANNELS_MAX } from './limits.ts';
import type { ByteInput } from './byte-input.ts';
import type { DecodingReporter, DecodedBlock } from './format-decoder.ts';
import { createSampleReader, type SampleFormat, type SampleReader } from './sample-reader.ts';
import {
  createDamagedError,
  createUnsupportedError,
  createNoAudioDataError,
  createNoSampleFormatError,
  createChannelsError,
} from './audio-decoding-error.ts';

/** Format codes of the fmt chunk, from the RIFF registry. */
const FORMAT_PCM = 1;
const FORMAT_FLOAT = 3;
const FORMAT_A_LAW = 6;
const FORMAT_MU_LAW = 7;
const FORMAT_EXTENSIBLE = 0xfffe;
const UNSUPPORTED_FORMATS: Readonly<Record<number, string>> = {
  2: 'ADPCM (Microsoft)',
  17: 'ADPCM (IMA)',
  49: 'GSM 6.10',
  85: 'MP3',
  255: 'AAC',
};

/** Length of a data chunk that extends to the end of the file. Writers that cannot seek leave this value or 0. */
const UNKNOWN_LENGTH = 0xffff_ffff;

/** Maximum length of a chunk before the data. A longer one means that the file is not a WAV file. */
const CHUNK_BYTES_MAX = 64 * 1024 * 1024;

/** Maximum number of bytes that are decoded at once. */
const BLOCK_BYTES_MAX = 32 * 1024;

interface WavFormat {
  readonly sampleFormat: SampleFormat;
  readonly channels: number;
  readonly sampleRate: number;
}

/** Decodes RIFF and RF64 files. */
export function* decodeWav(input: ByteInput, reporter: DecodingReporter): Generator<DecodedBlock, void, undefined> {
  const header = input.read(12);
  const isRf64 = ascii(header, 0, 4) === 'RF64';
  let format: WavFormat | undefined;
  let rf64Bytes = UNKNOWN_LENGTH;
  for (;;) {
    const chunk = input.read(8);
    if (chunk.length < 8) throw createNoAudioDataError();
    const bytes = view(chunk).getUint32(4, true);
    const name = ascii(chunk, 0, 4);
    if (name === 'data') {
      if (!format) throw createNoSampleFormatError();
      const isUnknown = bytes === UNKNOWN_LENGTH || bytes === 0;
      const length = isUnknown ? (isRf64 && rf64Bytes > 0 ? rf64Bytes : Infinity) : bytes;
      return yield* decodeSamples(input, reporter, { ...format, bytes: length === UNKNOWN_LENGTH ? Infinity : length });
    }
    if (bytes > CHUNK_BYTES_MAX) throw createDamagedError('has a chunk before its audio data that is too large');
    const padded = bytes + (bytes & 1);
    if (name === 'fmt ') format = parseFormat(input.read(padded));
    else if (name === 'ds64' && bytes >= 16) rf64Bytes = Number(view(input.read(padded)).getBigUint64(8, true));
    else input.skip(padded);
  }
}

function parseFormat(bytes: Uint8Array): WavFormat {
  if (bytes.length < 16) throw createNoSampleFormatError();
  const fields = view(bytes);
  const tag = fields.getUint16(0, true);
  const kind = tag === FORMAT_EXTENSIBLE && bytes.length >= 26 ? fields.getUint16(24, true) : tag;
  const channels = fields.getUint16(2, true);
  const sampleRate = fields.getUint32(4, true);
  const blockBytes = fields.getUint16(12, true);
  const bits = fields.getUint16(14, true);
  if (channels === 0 || channels > AUDIO_CHANNELS_MAX) throw createChannelsError(channels);
  // Samples of 20 bits are stored in three bytes, so use the stored size.
  const width =
    kind === FORMAT_PCM && blockBytes % channels === 0 && blockBytes > 0 ? (blockBytes / channels) * 8 : bits;
  return { sampleFormat: getSampleFormat(kind, width), channels, sampleRate };
}

function getSampleFormat(kind: number, bits: number): SampleFormat {
  if (kind === FORMAT_A_LAW && bits === 8) return 'alaw';
  if (kind === FORMAT_MU_LAW && bits === 8) return 'mulaw';
  if (kind === FORMAT_FLOAT && bits === 32) return 'f32le';
  if (kind === FORMAT_FLOAT && bits === 64) return 'f64le';
  if (kind === FORMAT_PCM && bits === 8) return 'u8';
  if (kind === FORMAT_PCM && bits === 16) return 's16le';
  if (kind === FORMAT_PCM && bits === 24) return 's24le';
  if (kind === FORMAT_PCM && bits === 32) return 's32le';
  throw createUnsupportedError(
    `is a WAV file of ${UNSUPPORTED_FORMATS[kind] ?? `format ${kind}`} with ${bits} bits, which is not supported`,
  );
}

interface SampleData extends WavFormat {
  /** Infinity if unknown. */
  readonly bytes: number;
}

/** Decodes interleaved samples. */
function* decodeSamples(
  input: ByteInput,
  reporter: DecodingReporter,
  { sampleFormat, channels, sampleRate, bytes }: SampleData,
): Generator<DecodedBlock, void, undefined> {
  const reader = createSampleReader(sampleFormat);
  reporter.reportCodec(`pcm_${sampleFormat}`);
  const frameBytes = reader.bytes * channels;
  const blockBytesMax = Math.max(1, Math.floor(BLOCK_BYTES_MAX / frameBytes)) * frameBytes;
  for (let left = bytes; left >= frameBytes;) {
    // Pass on what has arrived, because a live stream must not be delayed.
    input.peek(frameBytes);
    const buffered = Math.max(frameBytes, input.countBuffered() - (input.countBuffered() % frameBytes));
    const requestedBytes = Math.min(
      blockBytesMax,
      buffered,
      left === Infinity ? blockBytesMax : left - (left % frameBytes),
    );
    const read = input.read(requestedBytes);
    const frames = Math.floor(read.length / frameBytes);
    if (frames > 0) yield { sampleRate, channels: deinterleave(read, { frames, channels, reader }) };
    if (read.length < requestedBytes) {
      if (bytes !== Infinity || read.length % frameBytes !== 0) reporter.reportTruncated();
      return;
    }
    left -= requestedBytes;
  }
}

interface DeinterleaveOptions {
  readonly frames: number;
  readonly channels: number;
  readonly reader: SampleReader;
}

function deinterleave(bytes: Uint8Array, { frames, channels, reader }: DeinterleaveOptions): readonly Float32Array[] {
  const fields = view(bytes);
  return Array.from({ length: channels }, (_, channel) => {
    const samples = new Float32Array(frames);
    const step = reader.bytes * channels;
    for (let n = 0, at = channel * reader.bytes; n < frames; n++, at += step) samples[n] = reader.read(fields, at);
    return samples;
  });
}

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const ascii = (bytes: Uint8Array, from: number, to: number): string => String.fromCharCode(...bytes.subarray(from, to));
