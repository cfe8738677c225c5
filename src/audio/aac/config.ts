import { createBitReader, type BitReader } from '../bit-reader.ts';
import { damaged, unsupported } from '../unreadable.ts';
import { SAMPLE_RATES } from './bands.ts';

/** What a decoder is told before the first frame. */
export interface AacConfig {
  /** Of the core, in Hz: half of what is played where upper bands are rebuilt from it. */
  readonly sampleRate: number;
  /** Its upper bands would be rebuilt from the core; we read the core. */
  readonly hasUpperBands: boolean;
}

/** ISO/IEC 14496-3, table 1.17: kinds of audio objects. */
const LOW_COMPLEXITY = 2;
const SPECTRAL_REPLICATION = 5;
const PARAMETRIC_STEREO = 29;
const LONG_TYPE = 31;
const NAMES: Readonly<Record<number, string>> = {
  1: 'AAC Main',
  3: 'AAC SSR',
  4: 'AAC LTP',
  23: 'AAC LD',
  36: 'MPEG-4 ALS',
  39: 'AAC ELD',
  42: 'USAC (xHE-AAC)',
};

/** An `AudioSpecificConfig`, table 1.15, as an MP4 file carries it. @throws Unreadable */
export function readAacConfig(bytes: Uint8Array): AacConfig {
  const bits = createBitReader(bytes);
  let type = readType(bits);
  const sampleRate = readRate(bits);
  bits.skip(4);
  let hasUpperBands = false;
  if (type === SPECTRAL_REPLICATION || type === PARAMETRIC_STEREO) {
    hasUpperBands = true;
    readRate(bits);
    type = readType(bits);
  }
  requireLowComplexity(type);
  if (bits.read(1) === 1) throw unsupported('is AAC with frames of 960 samples, which are not read');
  return { sampleRate, hasUpperBands };
}

/** @throws Unreadable for all others. */
export function requireLowComplexity(type: number): void {
  if (type === LOW_COMPLEXITY) return;
  throw unsupported(`is ${NAMES[type] ?? `MPEG-4 audio of kind ${type}`}, of which only AAC LC is read`);
}

function readType(bits: BitReader): number {
  const type = bits.read(5);
  return type === LONG_TYPE ? 32 + bits.read(6) : type;
}

function readRate(bits: BitReader): number {
  const index = bits.read(4);
  const rate = index === 15 ? bits.read(24) : SAMPLE_RATES[index];
  if (rate === undefined || rate === 0) throw damaged('has a sampling rate that is none');
  return rate;
}
