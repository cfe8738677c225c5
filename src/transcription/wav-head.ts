import { ServiceError } from '../core/error.ts';
import { REALTIME_RATE_MAX, REALTIME_RATE_MIN } from '../core/limits.ts';

/** What a WAV file says before its samples. */
export interface WavHead {
  readonly sampleRate: number;
  readonly channels: number;
  /** What came behind it. */
  readonly rest: Uint8Array;
}

/** Bytes before the samples: remarks may stand there, but not at any length. */
const HEAD_BYTES_MAX = 64 * 1024;
const CHANNELS_MAX = 8;

const PCM = 1;
/** What the format is stands further behind. */
const EXTENSIBLE = 0xff_fe;

/** Reads the head of a WAV file that comes in pieces. Its length is not looked at: a stream does not know its own. */
export function createWavHead(): { push(bytes: Uint8Array): WavHead | undefined } {
  let held = Buffer.alloc(0);
  return {
    /** @throws ServiceError `invalid-request`. */
    push(bytes) {
      held = Buffer.concat([held, bytes]);
      const read = readHead(held);
      if (!read && held.length > HEAD_BYTES_MAX) throw noWav('its samples do not begin');
      return read;
    },
  };
}

function readHead(held: Buffer): WavHead | undefined {
  if (held.length < 12) return undefined;
  if (held.toString('latin1', 0, 4) !== 'RIFF' || held.toString('latin1', 8, 12) !== 'WAVE')
    throw noWav('it does not begin as one');
  let form: Pick<WavHead, 'sampleRate' | 'channels'> | undefined;
  for (let at = 12; at + 8 <= held.length;) {
    const name = held.toString('latin1', at, at + 4);
    const size = held.readUInt32LE(at + 4);
    const begin = at + 8;
    if (name === 'data') {
      if (!form) throw noWav('its samples come before their form');
      return { ...form, rest: held.subarray(begin) };
    }
    if (name === 'fmt ' && begin + size <= held.length) form = readForm(held.subarray(begin, begin + size));
    at = begin + size + (size % 2);
  }
  return undefined;
}

function readForm(bytes: Buffer): Pick<WavHead, 'sampleRate' | 'channels'> {
  if (bytes.length < 16) throw noWav('its form is cut off');
  const tag = bytes.readUInt16LE(0);
  const kind = tag === EXTENSIBLE && bytes.length >= 26 ? bytes.readUInt16LE(24) : tag;
  const [channels, sampleRate, bits] = [bytes.readUInt16LE(2), bytes.readUInt32LE(4), bytes.readUInt16LE(14)];
  if (kind !== PCM || bits !== 16) throw noWav('its samples have to be integers of 16 bits');
  if (channels < 1 || channels > CHANNELS_MAX)
    throw noWav(`it may have 1 to ${CHANNELS_MAX} channels, and has ${channels}`);
  if (sampleRate < REALTIME_RATE_MIN || sampleRate > REALTIME_RATE_MAX)
    throw noWav(`it may have ${REALTIME_RATE_MIN} to ${REALTIME_RATE_MAX} samples a second, and has ${sampleRate}`);
  return { sampleRate, channels };
}

const noWav = (why: string): ServiceError =>
  new ServiceError('invalid-request', `The audio is no WAV file that can be read: ${why}.`);
