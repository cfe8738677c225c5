import { createBitReader, type BitReader } from '../bit-reader.ts';
import {
  createUnsupportedError,
  createSampleRateError,
  createUnsupportedFormatError,
} from '../audio-decoding-error.ts';
import { SAMPLE_RATES } from './scale-factor-bands.ts';

/** Configuration of an AAC decoder. */
export interface AacConfig {
  /** Sampling rate of the core in Hz; half of the nominal rate with SBR. */
  readonly sampleRate: number;
  /** The stream contains SBR data, which is not decoded. */
  readonly hasSbr: boolean;
}

/** Audio object types (ISO/IEC 14496-3, table 1.17). */
const AAC_LC = 2;
const SBR = 5;
const PS = 29;
const ESCAPED_TYPE = 31;
const OBJECT_TYPE_NAMES: Readonly<Record<number, string>> = {
  1: 'AAC Main',
  3: 'AAC SSR',
  4: 'AAC LTP',
  23: 'AAC LD',
  36: 'MPEG-4 ALS',
  39: 'AAC ELD',
  42: 'USAC (xHE-AAC)',
};

/** Parses an `AudioSpecificConfig` (table 1.15) of an MP4 file. @throws AudioDecodingError */
export function parseAacConfig(bytes: Uint8Array): AacConfig {
  const bits = createBitReader(bytes);
  let type = readObjectType(bits);
  const sampleRate = readSampleRate(bits);
  bits.skip(4);
  let hasSbr = false;
  if (type === SBR || type === PS) {
    hasSbr = true;
    readSampleRate(bits);
    type = readObjectType(bits);
  }
  requireAacLc(type);
  if (bits.read(1) === 1) throw createUnsupportedFormatError('AAC with frames of 960 samples');
  return { sampleRate, hasSbr };
}

/** @throws AudioDecodingError for other object types. */
export function requireAacLc(type: number): void {
  if (type === AAC_LC) return;
  throw createUnsupportedError(
    `is ${OBJECT_TYPE_NAMES[type] ?? `MPEG-4 audio object type ${type}`}; only AAC LC is supported`,
  );
}

function readObjectType(bits: BitReader): number {
  const type = bits.read(5);
  return type === ESCAPED_TYPE ? 32 + bits.read(6) : type;
}

function readSampleRate(bits: BitReader): number {
  const index = bits.read(4);
  const rate = index === 15 ? bits.read(24) : SAMPLE_RATES[index];
  if (rate === undefined || rate === 0) throw createSampleRateError();
  return rate;
}
