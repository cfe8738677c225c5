import { AUDIO_CHANNELS_MAX } from '../core/limits.ts';
import type { ByteInput } from './byte-input.ts';
import type { Remarks, Sound } from './recording.ts';
import { sampleReader, type SampleForm, type SampleReader } from './samples.ts';
import { damaged, unsupported } from './unreadable.ts';

/** Formats by their number: the registry of RIFF, and what stands in its extensible form. */
const PCM = 1;
const FLOAT = 3;
const A_LAW = 6;
const MU_LAW = 7;
const EXTENSIBLE = 0xfffe;
const KNOWN: Readonly<Record<number, string>> = {
  2: 'ADPCM (Microsoft)',
  17: 'ADPCM (IMA)',
  49: 'GSM 6.10',
  85: 'MP3',
  255: 'AAC',
};

/** A length that says: until the end. Writers that cannot go back leave 0 or this. */
const OPEN = 0xffff_ffff;

/** Ours: bytes of a chunk before the sound. Beyond: this is no wav file. */
const CHUNK_BYTES_MAX = 64 * 1024 * 1024;

/** Ours: bytes that are taken at once. */
const STRETCH_BYTES = 32 * 1024;

interface WavFormat {
  readonly form: SampleForm;
  readonly channels: number;
  readonly sampleRate: number;
}

/** RIFF and RF64 files of samples. */
export function* decodeWav(input: ByteInput, remarks: Remarks): Generator<Sound, void, undefined> {
  const head = input.read(12);
  const isLarge = ascii(head, 0, 4) === 'RF64';
  let format: WavFormat | undefined;
  let largeBytes = OPEN;
  for (;;) {
    const chunk = input.read(8);
    if (chunk.length < 8) throw damaged('ends before its sound begins');
    const bytes = view(chunk).getUint32(4, true);
    const name = ascii(chunk, 0, 4);
    if (name === 'data') {
      if (!format) throw damaged('does not say what its samples are');
      const isOpen = bytes === OPEN || bytes === 0;
      const length = isOpen ? (isLarge && largeBytes > 0 ? largeBytes : Infinity) : bytes;
      return yield* decodeSamples(input, remarks, { ...format, bytes: length === OPEN ? Infinity : length });
    }
    if (bytes > CHUNK_BYTES_MAX) throw damaged('has a part before its sound that is too large');
    const padded = bytes + (bytes & 1);
    if (name === 'fmt ') format = readFormat(input.read(padded));
    else if (name === 'ds64' && bytes >= 16) largeBytes = Number(view(input.read(padded)).getBigUint64(8, true));
    else input.skip(padded);
  }
}

function readFormat(bytes: Uint8Array): WavFormat {
  if (bytes.length < 16) throw damaged('does not say what its samples are');
  const fields = view(bytes);
  const tag = fields.getUint16(0, true);
  const kind = tag === EXTENSIBLE && bytes.length >= 26 ? fields.getUint16(24, true) : tag;
  const channels = fields.getUint16(2, true);
  const sampleRate = fields.getUint32(4, true);
  const blockBytes = fields.getUint16(12, true);
  const bits = fields.getUint16(14, true);
  if (channels === 0 || channels > AUDIO_CHANNELS_MAX)
    throw unsupported(`has ${channels} channels, of 1 to ${AUDIO_CHANNELS_MAX}`);
  // 20 bits stand in three bytes: what counts is how many bytes a sample takes.
  const width = kind === PCM && blockBytes % channels === 0 && blockBytes > 0 ? (blockBytes / channels) * 8 : bits;
  return { form: formOf(kind, width), channels, sampleRate };
}

function formOf(kind: number, bits: number): SampleForm {
  if (kind === A_LAW && bits === 8) return 'alaw';
  if (kind === MU_LAW && bits === 8) return 'mulaw';
  if (kind === FLOAT && bits === 32) return 'f32le';
  if (kind === FLOAT && bits === 64) return 'f64le';
  if (kind === PCM && bits === 8) return 'u8';
  if (kind === PCM && bits === 16) return 's16le';
  if (kind === PCM && bits === 24) return 's24le';
  if (kind === PCM && bits === 32) return 's32le';
  throw unsupported(`is a wav file of ${KNOWN[kind] ?? `format ${kind}`} with ${bits} bits, which is not read`);
}

interface Samples extends WavFormat {
  /** Infinity where nobody knows. */
  readonly bytes: number;
}

/** Samples of all channels in turn, without a head. */
function* decodeSamples(
  input: ByteInput,
  remarks: Remarks,
  { form, channels, sampleRate, bytes }: Samples,
): Generator<Sound, void, undefined> {
  const reader = sampleReader(form);
  remarks.written(`pcm_${form}`);
  const turn = reader.bytes * channels;
  const stretch = Math.max(1, Math.floor(STRETCH_BYTES / turn)) * turn;
  for (let left = bytes; left >= turn;) {
    // What has come is given on: who speaks is not waited for.
    input.peek(turn);
    const held = Math.max(turn, input.held() - (input.held() % turn));
    const wanted = Math.min(stretch, held, left === Infinity ? stretch : left - (left % turn));
    const read = input.read(wanted);
    const turns = Math.floor(read.length / turn);
    if (turns > 0) yield { sampleRate, channels: split(read, { turns, channels, reader }) };
    if (read.length < wanted) {
      if (bytes !== Infinity || read.length % turn !== 0) remarks.cutOff();
      return;
    }
    left -= wanted;
  }
}

interface Turns {
  readonly turns: number;
  readonly channels: number;
  readonly reader: SampleReader;
}

function split(bytes: Uint8Array, { turns, channels, reader }: Turns): readonly Float32Array[] {
  const fields = view(bytes);
  return Array.from({ length: channels }, (_, channel) => {
    const samples = new Float32Array(turns);
    const step = reader.bytes * channels;
    for (let n = 0, at = channel * reader.bytes; n < turns; n++, at += step) samples[n] = reader.read(fields, at);
    return samples;
  });
}

const view = (bytes: Uint8Array): DataView => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
const ascii = (bytes: Uint8Array, from: number, to: number): string => String.fromCharCode(...bytes.subarray(from, to));
