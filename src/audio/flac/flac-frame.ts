import { createBitReader, type BitReader } from '../bit-reader.ts';
import type { Sound } from '../recording.ts';
import { damaged } from '../unreadable.ts';
import { readFrameHead, type FrameHead, type StreamFacts } from './frame-head.ts';

/** RFC 9639, 9.2.5: fixed predictors by order. */
const FIXED: readonly (readonly number[])[] = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

/**
 * The first frame of some bytes, and how many it takes.
 * @throws Unreadable where it is damaged or not whole, which its checksum tells.
 */
export function decodeFlacFrame(
  bytes: Uint8Array,
  facts: StreamFacts,
): { readonly sound: Sound; readonly bytes: number } {
  const head = readFrameHead(bytes, facts);
  if (!head) throw damaged('has a frame without a head');
  const bits = createBitReader(bytes);
  for (let n = 0; n < head.headBytes; n++) bits.skip(8);
  const channels = Array.from({ length: head.channels }, (_, channel) => {
    // A difference needs one bit more than what it is of.
    const isDifference = head.side === 9 ? channel === 0 : head.side !== 0 && channel === 1;
    return readChannel(bits, head.blockSize, head.bits + (isDifference ? 1 : 0));
  });
  bits.align();
  const end = bits.at() / 8;
  if (crc16(bytes, end) !== bits.read(16)) throw damaged('has a frame with another checksum');
  join(channels, head);
  const scale = 2 ** (1 - head.bits);
  const sound = {
    sampleRate: head.sampleRate,
    channels: channels.map((samples) => scaled(samples, scale)),
  };
  return { sound, bytes: end + 2 };
}

function scaled(samples: Float64Array, scale: number): Float32Array {
  const floats = new Float32Array(samples.length);
  for (let n = 0; n < floats.length; n++) floats[n] = (samples[n] ?? 0) * scale;
  return floats;
}

/** Whole numbers in doubles, which hold 53 bits: products of 33 bits and 15 add up below that. */
function readChannel(bits: BitReader, size: number, width: number): Float64Array {
  const samples = new Float64Array(size);
  if (bits.read(1) !== 0) throw damaged('has a frame with a channel that is none');
  const kind = bits.read(6);
  const wasted = bits.read(1) === 1 ? 1 + readUnary(bits) : 0;
  const own = width - wasted;
  if (own < 1) throw damaged('has a frame with a channel that is none');
  if (kind === 0) samples.fill(readSigned(bits, own));
  else if (kind === 1) for (let n = 0; n < size; n++) samples[n] = readSigned(bits, own);
  else if (kind >= 8 && kind <= 12) readPredicted(bits, samples, { width: own, order: kind - 8 });
  else if (kind >= 32) readPredicted(bits, samples, { width: own, order: kind - 31, isLinear: true });
  else throw damaged('has a frame with a channel that is none');
  if (wasted > 0) for (let n = 0; n < size; n++) samples[n] = (samples[n] ?? 0) * 2 ** wasted;
  return samples;
}

interface Prediction {
  readonly width: number;
  readonly order: number;
  readonly isLinear?: boolean;
}

function readPredicted(bits: BitReader, samples: Float64Array, { width, order, isLinear = false }: Prediction): void {
  if (order > samples.length) throw damaged('has a frame that is shorter than its predictor');
  for (let n = 0; n < order; n++) samples[n] = readSigned(bits, width);
  let coefficients = FIXED[order] ?? [];
  let unit = 1;
  if (isLinear) {
    const precision = bits.read(4) + 1;
    const shift = readSigned(bits, 5);
    if (precision === 16 || shift < 0) throw damaged('has a frame with a predictor that is none');
    unit = 2 ** shift;
    coefficients = Array.from({ length: order }, () => readSigned(bits, precision));
  }
  readResidual(bits, samples, order);
  for (let n = order; n < samples.length; n++) {
    let sum = 0;
    for (let k = 0; k < order; k++) sum += (coefficients[k] ?? 0) * (samples[n - 1 - k] ?? 0);
    samples[n] = (samples[n] ?? 0) + Math.floor(sum / unit);
  }
}

/** RFC 9639, 9.2.7: Rice codes in parts, each with a parameter of its own. */
function readResidual(bits: BitReader, samples: Float64Array, order: number): void {
  const method = bits.read(2);
  if (method > 1) throw damaged('has a frame with a code that is none');
  const parameterBits = method === 0 ? 4 : 5;
  const escape = (1 << parameterBits) - 1;
  const parts = 1 << bits.read(4);
  const size = samples.length / parts;
  if (!Number.isInteger(size) || size < order) throw damaged('has a frame with parts that do not fit');
  for (let part = 0; part < parts; part++) {
    const [from, to] = [part === 0 ? order : part * size, (part + 1) * size];
    const parameter = bits.read(parameterBits);
    if (parameter === escape) {
      const width = bits.read(5);
      for (let n = from; n < to; n++) samples[n] = width === 0 ? 0 : readSigned(bits, width);
      continue;
    }
    const unit = 2 ** parameter;
    for (let n = from; n < to; n++) {
      const value = readUnary(bits) * unit + readWide(bits, parameter);
      samples[n] = value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }
}

function join(channels: readonly Float64Array[], { side }: FrameHead): void {
  const [first, second] = channels;
  if (side === 0 || !first || !second) return;
  for (let n = 0; n < first.length; n++) {
    const [a, b] = [first[n] ?? 0, second[n] ?? 0];
    if (side === 8) second[n] = a - b;
    else if (side === 9) first[n] = a + b;
    else {
      // The sum was halved; its last bit is that of the difference.
      const sum = 2 * a + (Math.abs(b) % 2);
      first[n] = (sum + b) / 2;
      second[n] = (sum - b) / 2;
    }
  }
}

/** How many zeros stand before the next one. */
function readUnary(bits: BitReader): number {
  let zeros = 0;
  for (;;) {
    const next = bits.peek(24);
    if (next !== 0) {
      const more = Math.clz32(next) - 8;
      bits.skip(more + 1);
      return zeros + more;
    }
    bits.skip(24);
    zeros += 24;
  }
}

const readWide = (bits: BitReader, width: number): number =>
  width <= 24 ? bits.read(width) : bits.read(width - 16) * 2 ** 16 + bits.read(16);

function readSigned(bits: BitReader, width: number): number {
  const value = width <= 32 ? readWide(bits, width) : bits.read(1) * 2 ** 32 + readWide(bits, 32);
  return value >= 2 ** (width - 1) ? value - 2 ** width : value;
}

function crc16(bytes: Uint8Array, to: number): number {
  let crc = 0;
  for (let at = 0; at < to; at++) crc = ((crc << 8) & 0xffff) ^ (CRC[(crc >> 8) ^ (bytes[at] ?? 0)] ?? 0);
  return crc;
}

/** Of the polynomial 0x8005, by byte. */
const CRC = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x8005) & 0xffff : crc << 1;
  return crc;
});
