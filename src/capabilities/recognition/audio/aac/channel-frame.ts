import type { BitReader } from '../bit-reader.ts';
import { createDamagedError, createUnsupportedError, createCodebookError } from '../audio-decoding-error.ts';
import { EIGHT_SHORT_SEQUENCE, FRAME_SAMPLES, SHORT_WINDOW_SAMPLES, type IcsInfo } from './ics-info.ts';
import { readTnsData, type TnsData } from './tns.ts';
import type { SpectrumReader } from './spectrum-reader.ts';

/** Codebooks with a special meaning: PNS and intensity stereo. */
export const NOISE_CODEBOOK = 13;
export const INTENSITY_CODEBOOK_OUT_OF_PHASE = 14;
export const INTENSITY_CODEBOOK_IN_PHASE = 15;
const RESERVED_CODEBOOK = 12;

/** Channel of a frame: `individual_channel_stream` (ISO/IEC 14496-3, table 4.51), with the dequantized spectrum. */
export interface ChannelFrame {
  readonly ics: IcsInfo;
  /** Codebooks at index `group * ics.bandCount + band`. */
  readonly codebooks: Uint8Array;
  /** Scale factor, intensity position or noise energy, depending on the codebook; indexed like `codebooks`. */
  readonly scaleFactors: Int32Array;
  readonly spectrum: Float64Array;
  readonly tns: TnsData | undefined;
}

interface PulseData {
  readonly startBand: number;
  readonly pulses: readonly (readonly [offset: number, amplitude: number])[];
}

/** Reads a channel. @throws AudioDecodingError */
export function readChannelFrame(bits: BitReader, reader: SpectrumReader, getIcsInfo: () => IcsInfo): ChannelFrame {
  const globalGain = bits.read(8);
  const ics = getIcsInfo();
  const codebooks = readSectionData(bits, ics);
  const scaleFactors = readScaleFactors(bits, { ics, codebooks, globalGain, reader });
  const isShort = ics.windowSequence === EIGHT_SHORT_SEQUENCE;
  const pulseData = bits.read(1) === 1 ? readPulseData(bits) : undefined;
  if (pulseData && isShort) throw createDamagedError('has a frame with pulses in short windows');
  const tns = bits.read(1) === 1 ? readTnsData(bits, isShort) : undefined;
  if (bits.read(1) === 1) throw createUnsupportedError('is AAC with gain control; only AAC LC is supported');

  const spectrum = new Float64Array(FRAME_SAMPLES);
  let window = 0;
  for (const [group, length] of ics.groups.entries()) {
    for (let band = 0; band < ics.bandCount; band++) {
      const book = codebooks[group * ics.bandCount + band] ?? 0;
      if (book === 0 || book > 11) continue;
      const [from, to] = [ics.edges[band] ?? 0, ics.edges[band + 1] ?? 0];
      for (let n = 0; n < length; n++) {
        reader.readValues(bits, book, spectrum, {
          from: (window + n) * SHORT_WINDOW_SAMPLES + from,
          to: (window + n) * SHORT_WINDOW_SAMPLES + to,
        });
      }
    }
    window += length;
  }
  if (pulseData) addPulses(spectrum, ics, pulseData);
  dequantize({ ics, codebooks, scaleFactors, spectrum, tns }, reader);
  return { ics, codebooks, scaleFactors, spectrum, tns };
}

function readSectionData(bits: BitReader, { windowSequence, bandCount, groups }: IcsInfo): Uint8Array {
  const codebooks = new Uint8Array(groups.length * bandCount);
  const lengthBits = windowSequence === EIGHT_SHORT_SEQUENCE ? 3 : 5;
  const more = (1 << lengthBits) - 1;
  for (let group = 0; group < groups.length; group++) {
    for (let band = 0; band < bandCount;) {
      const book = bits.read(4);
      if (book === RESERVED_CODEBOOK) throw createCodebookError();
      let length = 0;
      for (let part = more; part === more; length += part) part = bits.read(lengthBits);
      if (length === 0 || band + length > bandCount)
        throw createDamagedError('has a frame with sections beyond its bands');
      codebooks.fill(book, group * bandCount + band, group * bandCount + band + length);
      band += length;
    }
  }
  return codebooks;
}

interface ScaleFactorContext {
  readonly ics: IcsInfo;
  readonly codebooks: Uint8Array;
  readonly globalGain: number;
  readonly reader: SpectrumReader;
}

/** Reads differences to the previous value of the same kind (4.6.2.3, 4.6.8.2 and 4.6.13.3). */
function readScaleFactors(bits: BitReader, { ics, codebooks, globalGain, reader }: ScaleFactorContext): Int32Array {
  const scaleFactors = new Int32Array(codebooks.length);
  let scaleFactor = globalGain;
  let intensityPosition = 0;
  let noiseEnergy = globalGain - 90;
  let isFirstNoise = true;
  for (let at = 0; at < ics.groups.length * ics.bandCount; at++) {
    const book = codebooks[at] ?? 0;
    if (book === 0) continue;
    if (book === INTENSITY_CODEBOOK_IN_PHASE || book === INTENSITY_CODEBOOK_OUT_OF_PHASE) {
      intensityPosition += reader.readScaleFactorDelta(bits);
      scaleFactors[at] = intensityPosition;
    } else if (book === NOISE_CODEBOOK) {
      noiseEnergy += isFirstNoise ? bits.read(9) - 256 : reader.readScaleFactorDelta(bits);
      isFirstNoise = false;
      scaleFactors[at] = noiseEnergy;
    } else {
      scaleFactor += reader.readScaleFactorDelta(bits);
      if (scaleFactor < 0 || scaleFactor > 255) throw createDamagedError('has a frame with an invalid scale factor');
      scaleFactors[at] = scaleFactor;
    }
  }
  return scaleFactors;
}

function readPulseData(bits: BitReader): PulseData {
  const count = bits.read(2) + 1;
  const band = bits.read(6);
  const pulses = Array.from({ length: count }, () => [bits.read(5), bits.read(4)] as const);
  return { startBand: band, pulses };
}

/** Adds pulses: amplitudes that are coded separately because they exceed their neighbors (4.6.3). */
function addPulses(spectrum: Float64Array, ics: IcsInfo, { startBand, pulses }: PulseData): void {
  let at = ics.edges[startBand] ?? FRAME_SAMPLES;
  for (const [offset, amplitude] of pulses) {
    at += offset;
    if (at >= FRAME_SAMPLES) throw createDamagedError('has a frame with a pulse beyond its bands');
    const value = spectrum[at] ?? 0;
    spectrum[at] = value > 0 ? value + amplitude : value - amplitude;
  }
}

/** Dequantizes the spectrum: power of 4/3, times 2 for each 4 scale factor steps above 100 (4.6.1.3, 4.6.2.3.3). */
function dequantize({ ics, codebooks, scaleFactors, spectrum }: ChannelFrame, reader: SpectrumReader): void {
  let window = 0;
  for (const [group, length] of ics.groups.entries()) {
    for (let band = 0; band < ics.bandCount; band++) {
      const at = group * ics.bandCount + band;
      const book = codebooks[at] ?? 0;
      if (book === 0 || book > 11) continue;
      const gain = 2 ** (((scaleFactors[at] ?? 0) - 100) / 4);
      const [from, to] = [ics.edges[band] ?? 0, ics.edges[band + 1] ?? 0];
      for (let n = window; n < window + length; n++)
        reader.dequantize(spectrum, n * SHORT_WINDOW_SAMPLES + from, n * SHORT_WINDOW_SAMPLES + to, gain);
    }
    window += length;
  }
}
