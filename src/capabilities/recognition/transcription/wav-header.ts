import { ServiceError } from '../../../core/error.ts';
import { REALTIME_RATE_MAX, REALTIME_RATE_MIN } from '../limits.ts';

/** Header of a WAV file. */
export interface WavHeader {
  readonly sampleRate: number;
  readonly channels: number;
  /** Bytes after the header. */
  readonly rest: Uint8Array;
}

/** Maximum length of the header, which may contain other chunks. */
const HEADER_BYTES_MAX = 64 * 1024;
const CHANNELS_MAX = 8;

const FORMAT_PCM = 1;
/** The format code is in the extension of the fmt chunk. */
const FORMAT_EXTENSIBLE = 0xff_fe;

/** Parses a WAV header that arrives in pieces. Ignores its length fields, because a stream's length is unknown. */
export function createWavHeaderParser(): { push(bytes: Uint8Array): WavHeader | undefined } {
  let buffer = Buffer.alloc(0);
  return {
    /** Returns the header once it is complete. @throws ServiceError `invalid-request`. */
    push(bytes) {
      buffer = Buffer.concat([buffer, bytes]);
      const header = parseHeader(buffer);
      if (!header && buffer.length > HEADER_BYTES_MAX) throw createInvalidWavError('the data chunk is missing');
      return header;
    },
  };
}

function parseHeader(buffer: Buffer): WavHeader | undefined {
  if (buffer.length < 12) return undefined;
  if (buffer.toString('latin1', 0, 4) !== 'RIFF' || buffer.toString('latin1', 8, 12) !== 'WAVE')
    throw createInvalidWavError('the RIFF header is missing');
  let format: Pick<WavHeader, 'sampleRate' | 'channels'> | undefined;
  for (let at = 12; at + 8 <= buffer.length;) {
    const name = buffer.toString('latin1', at, at + 4);
    const size = buffer.readUInt32LE(at + 4);
    const contentStart = at + 8;
    if (name === 'data') {
      if (!format) throw createInvalidWavError('the data chunk precedes the fmt chunk');
      return { ...format, rest: buffer.subarray(contentStart) };
    }
    if (name === 'fmt ' && contentStart + size <= buffer.length)
      format = parseFormat(buffer.subarray(contentStart, contentStart + size));
    at = contentStart + size + (size % 2);
  }
  return undefined;
}

function parseFormat(bytes: Buffer): Pick<WavHeader, 'sampleRate' | 'channels'> {
  if (bytes.length < 16) throw createInvalidWavError('the fmt chunk is too short');
  const tag = bytes.readUInt16LE(0);
  const kind = tag === FORMAT_EXTENSIBLE && bytes.length >= 26 ? bytes.readUInt16LE(24) : tag;
  const [channels, sampleRate, bits] = [bytes.readUInt16LE(2), bytes.readUInt32LE(4), bytes.readUInt16LE(14)];
  if (kind !== FORMAT_PCM || bits !== 16) throw createInvalidWavError('only 16-bit integer samples are supported');
  if (channels < 1 || channels > CHANNELS_MAX)
    throw createInvalidWavError(`the number of channels must be 1 to ${CHANNELS_MAX}, got ${channels}`);
  if (sampleRate < REALTIME_RATE_MIN || sampleRate > REALTIME_RATE_MAX)
    throw createInvalidWavError(
      `the sample rate must be ${REALTIME_RATE_MIN} to ${REALTIME_RATE_MAX} Hz, got ${sampleRate}`,
    );
  return { sampleRate, channels };
}

const createInvalidWavError = (why: string): ServiceError =>
  new ServiceError('invalid-request', `The audio is not a valid WAV file: ${why}.`);
