import { createBitReader, type BitReader } from '../bit-reader.ts';
import { createDamagedError, createUnsupportedFormatError } from '../audio-decoding-error.ts';
import { getScaleFactorBands, type ScaleFactorBands } from './scale-factor-bands.ts';
import { readChannelFrame, type ChannelFrame } from './channel-frame.ts';
import type { AacConfig } from './aac-config.ts';
import { createFilterBank, createWindowSlopes, type FilterBank } from './filter-bank.ts';
import { applyTns } from './tns.ts';
import { createSpectrumReader } from './spectrum-reader.ts';
import { MID_SIDE_ALL, applyPns, applyStereo, type MidSideBands } from './stereo.ts';
import { readIcsInfo, type IcsInfo } from './ics-info.ts';

export interface AacDecoder {
  /**
   * Decodes a frame. Returns 1024 samples of each channel except LFE channels, which are omitted.
   * @throws AudioDecodingError; the frame is lost then, but the next one may be decoded.
   */
  decode(frame: Uint8Array): readonly Float32Array[];
  /** Whether any frame so far contained SBR data, which is not decoded. */
  hasSbr(): boolean;
}

/** Syntactic elements of a frame (ISO/IEC 14496-3, table 4.85). */
const ELEMENT_SCE = 0;
const ELEMENT_CPE = 1;
const ELEMENT_CCE = 2;
const ELEMENT_LFE = 3;
const ELEMENT_DSE = 4;
const ELEMENT_PCE = 5;
const ELEMENT_FIL = 6;
const ELEMENT_END = 7;

/** Extension types of SBR data (ISO/IEC 14496-3, table 4.121). */
const SBR_EXTENSION_TYPES = new Set([13, 14]);

/** Creates a decoder for AAC LC (ISO/IEC 14496-3, 4.4 to 4.6). */
export function createAacDecoder({ sampleRate, hasSbr }: AacConfig): AacDecoder {
  const bands = getScaleFactorBands(sampleRate);
  const reader = createSpectrumReader();
  const slopes = createWindowSlopes();
  const random = createRandom();
  const banks = new Map<string, FilterBank>();
  let hasSbrData = hasSbr;

  /** Returns the filter bank of a channel: frames of the same channel overlap. */
  const getFilterBank = (element: number, tag: number, side: number): FilterBank => {
    const key = `${element} ${tag} ${side}`;
    const bank = banks.get(key) ?? createFilterBank(slopes);
    banks.set(key, bank);
    return bank;
  };

  const synthesize = ({ spectrum, tns, ics }: ChannelFrame, bank: FilterBank): Float32Array => {
    if (tns) applyTns(spectrum, tns, ics);
    return bank(spectrum, ics);
  };

  const readSingleChannel = (bits: BitReader, element: number): Float32Array => {
    const tag = bits.read(4);
    const frame = readChannelFrame(bits, reader, () => readIcsInfo(bits, bands));
    applyPns(frame, random);
    return synthesize(frame, getFilterBank(element, tag, 0));
  };

  const readChannelPair = (bits: BitReader): readonly Float32Array[] => {
    const tag = bits.read(4);
    const { ics, midSideBands } = readCommonWindow(bits, bands);
    const getIcsInfo = (): IcsInfo => ics ?? readIcsInfo(bits, bands);
    const left = readChannelFrame(bits, reader, getIcsInfo);
    const right = readChannelFrame(bits, reader, getIcsInfo);
    applyPns(left, random);
    applyPns(right, random, { left, midSideBands });
    if (ics) applyStereo(left, right, midSideBands);
    return [
      synthesize(left, getFilterBank(ELEMENT_CPE, tag, 0)),
      synthesize(right, getFilterBank(ELEMENT_CPE, tag, 1)),
    ];
  };

  return {
    hasSbr: () => hasSbrData,
    decode(frame) {
      const bits = createBitReader(frame);
      const channels: Float32Array[] = [];
      for (;;) {
        // An encoder may omit the end element.
        if (bits.countRemaining() < 3) return channels;
        const element = bits.read(3);
        switch (element) {
          case ELEMENT_SCE:
            channels.push(readSingleChannel(bits, element));
            break;
          case ELEMENT_LFE:
            readSingleChannel(bits, element);
            break;
          case ELEMENT_CPE:
            channels.push(...readChannelPair(bits));
            break;
          case ELEMENT_DSE:
            skipDataStream(bits);
            break;
          case ELEMENT_PCE:
            skipProgramConfig(bits);
            break;
          case ELEMENT_FIL:
            if (skipFill(bits)) hasSbrData = true;
            break;
          case ELEMENT_CCE:
            throw createUnsupportedFormatError('AAC with a coupling channel');
          case ELEMENT_END:
            return channels;
        }
      }
    },
  };
}

/** Reads the window information and the mid/side mask if both channels of a pair share them. */
function readCommonWindow(
  bits: BitReader,
  bands: ScaleFactorBands,
): { readonly ics?: IcsInfo; readonly midSideBands?: MidSideBands } {
  if (bits.read(1) === 0) return {};
  const ics = readIcsInfo(bits, bands);
  const count = ics.groups.length * ics.bandCount;
  const maskPresent = bits.read(2);
  if (maskPresent === 3) throw createDamagedError('has a frame with an invalid mid/side mask');
  if (maskPresent === 0) return { ics };
  return {
    ics,
    midSideBands: Uint8Array.from({ length: count }, () =>
      maskPresent === MID_SIDE_ALL ? MID_SIDE_ALL : bits.read(1),
    ),
  };
}

function skipDataStream(bits: BitReader): void {
  bits.skip(4);
  const isAligned = bits.read(1) === 1;
  let count = bits.read(8);
  if (count === 255) count += bits.read(8);
  if (isAligned) bits.align();
  bits.skip(8 * count);
}

/** Skips a program config element (ISO/IEC 14496-3, table 4.2): the positions of channels do not matter for a mix. */
function skipProgramConfig(bits: BitReader): void {
  bits.skip(4 + 2 + 4);
  const [front, side, back, lfe] = [bits.read(4), bits.read(4), bits.read(4), bits.read(2)];
  const [data, coupling] = [bits.read(3), bits.read(4)];
  if (bits.read(1) === 1) bits.skip(4);
  if (bits.read(1) === 1) bits.skip(4);
  if (bits.read(1) === 1) bits.skip(3);
  bits.skip(5 * (front + side + back + coupling) + 4 * (lfe + data));
  bits.align();
  bits.skip(8 * bits.read(8));
}

/** Skips a fill element. Returns whether it contains SBR data. */
function skipFill(bits: BitReader): boolean {
  let count = bits.read(4);
  if (count === 15) count += bits.read(8) - 1;
  const kind = count > 0 ? bits.peek(4) : 0;
  bits.skip(8 * count);
  return SBR_EXTENSION_TYPES.has(kind);
}

/** Creates a generator of noise around 0 with a fixed seed, so that decoding is deterministic. */
function createRandom(): () => number {
  let state = 0x2f6e2b1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state;
  };
}
