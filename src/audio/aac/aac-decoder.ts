import { createBitReader, type BitReader } from '../bit-reader.ts';
import { damaged, unsupported } from '../unreadable.ts';
import { bandsOf, type Bands } from './bands.ts';
import { readChannelFrame, type ChannelFrame } from './channel-frame.ts';
import type { AacConfig } from './config.ts';
import { createFilterBank, createSlopes, type FilterBank } from './filter-bank.ts';
import { shapeNoise } from './noise-shaping.ts';
import { createSpectrumReader } from './spectrum.ts';
import { ALL, fillNoise, joinStereo, type SumBands } from './stereo.ts';
import { readWindowShape, type WindowShape } from './window-shape.ts';

export interface AacDecoder {
  /**
   * 1024 samples of each channel of a frame; no channels where it has none. Not for channels of deep sounds only.
   * @throws Unreadable; the frame is lost then, and the next one may be read.
   */
  decode(frame: Uint8Array): readonly Float32Array[];
  /** Whether frames so far carried what upper bands are rebuilt from, which we do not. */
  hasUpperBands(): boolean;
}

/** ISO/IEC 14496-3, table 4.85: what a frame is made of. */
const SINGLE = 0;
const PAIR = 1;
const COUPLING = 2;
const DEEP = 3;
const DATA = 4;
const PROGRAM = 5;
const FILL = 6;
const END = 7;

/** Table 4.121: extensions that upper bands are rebuilt from. */
const UPPER_BANDS = new Set([13, 14]);

/** Decodes AAC LC, frame by frame, as ISO/IEC 14496-3 describes it in 4.4 to 4.6. */
export function createAacDecoder({ sampleRate, hasUpperBands }: AacConfig): AacDecoder {
  const bands = bandsOf(sampleRate);
  const reader = createSpectrumReader();
  const slopes = createSlopes();
  const random = createRandom();
  const banks = new Map<string, FilterBank>();
  let seesUpperBands = hasUpperBands;

  /** Whatever element a channel is in, its frames overlap. */
  const bankOf = (element: number, tag: number, side: number): FilterBank => {
    const key = `${element} ${tag} ${side}`;
    const bank = banks.get(key) ?? createFilterBank(slopes);
    banks.set(key, bank);
    return bank;
  };

  const toSamples = ({ spectrum, shaping, shape }: ChannelFrame, bank: FilterBank): Float32Array => {
    if (shaping) shapeNoise(spectrum, shaping, shape);
    return bank(spectrum, shape);
  };

  const readSingle = (bits: BitReader, element: number): Float32Array => {
    const tag = bits.read(4);
    const frame = readChannelFrame(bits, reader, () => readWindowShape(bits, bands));
    fillNoise(frame, random);
    return toSamples(frame, bankOf(element, tag, 0));
  };

  const readPair = (bits: BitReader): readonly Float32Array[] => {
    const tag = bits.read(4);
    const { shape, sums } = readShared(bits, bands);
    const readShape = (): WindowShape => shape ?? readWindowShape(bits, bands);
    const left = readChannelFrame(bits, reader, readShape);
    const right = readChannelFrame(bits, reader, readShape);
    fillNoise(left, random);
    fillNoise(right, random, { left, sums });
    if (shape) joinStereo(left, right, sums);
    return [toSamples(left, bankOf(PAIR, tag, 0)), toSamples(right, bankOf(PAIR, tag, 1))];
  };

  return {
    hasUpperBands: () => seesUpperBands,
    decode(frame) {
      const bits = createBitReader(frame);
      const channels: Float32Array[] = [];
      for (;;) {
        // An encoder may leave the end away where nothing follows.
        if (bits.left() < 3) return channels;
        const element = bits.read(3);
        switch (element) {
          case SINGLE:
            channels.push(readSingle(bits, element));
            break;
          case DEEP:
            readSingle(bits, element);
            break;
          case PAIR:
            channels.push(...readPair(bits));
            break;
          case DATA:
            skipData(bits);
            break;
          case PROGRAM:
            skipProgram(bits);
            break;
          case FILL:
            if (skipFill(bits)) seesUpperBands = true;
            break;
          case COUPLING:
            throw unsupported('is AAC with a coupled channel, which is not read');
          case END:
            return channels;
        }
      }
    },
  };
}

/** What both channels of a pair have in common, if anything. */
function readShared(bits: BitReader, bands: Bands): { readonly shape?: WindowShape; readonly sums?: SumBands } {
  if (bits.read(1) === 0) return {};
  const shape = readWindowShape(bits, bands);
  const count = shape.groups.length * shape.bandCount;
  const mask = bits.read(2);
  if (mask === 3) throw damaged('has a frame with a mask that is none');
  if (mask === 0) return { shape };
  return { shape, sums: Uint8Array.from({ length: count }, () => (mask === ALL ? ALL : bits.read(1))) };
}

function skipData(bits: BitReader): void {
  bits.skip(4);
  const isAligned = bits.read(1) === 1;
  let count = bits.read(8);
  if (count === 255) count += bits.read(8);
  if (isAligned) bits.align();
  bits.skip(8 * count);
}

/** Table 4.2: it says which channel is where, which a mix of all does not need. */
function skipProgram(bits: BitReader): void {
  bits.skip(4 + 2 + 4);
  const [front, side, back, deep] = [bits.read(4), bits.read(4), bits.read(4), bits.read(2)];
  const [data, coupling] = [bits.read(3), bits.read(4)];
  if (bits.read(1) === 1) bits.skip(4);
  if (bits.read(1) === 1) bits.skip(4);
  if (bits.read(1) === 1) bits.skip(3);
  bits.skip(5 * (front + side + back + coupling) + 4 * (deep + data));
  bits.align();
  bits.skip(8 * bits.read(8));
}

/** @returns whether it carries what upper bands are rebuilt from. */
function skipFill(bits: BitReader): boolean {
  let count = bits.read(4);
  if (count === 15) count += bits.read(8) - 1;
  const kind = count > 0 ? bits.peek(4) : 0;
  bits.skip(8 * count);
  return UPPER_BANDS.has(kind);
}

/** The same noise each time, around 0: a recording is decoded to the same samples. */
function createRandom(): () => number {
  let state = 0x2f6e2b1;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) | 0;
    return state;
  };
}
