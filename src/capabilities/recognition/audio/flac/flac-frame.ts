import { createBitReader, type BitReader } from '../bit-reader.ts';
import type { DecodedBlock } from '../format-decoder.ts';
import { createDamagedError, type AudioDecodingError } from '../audio-decoding-error.ts';
import { parseFlacFrameHeader, type FlacFrameHeader, type FlacStreamInfo } from './frame-header.ts';

/** Coefficients of the fixed predictors by order (RFC 9639, 9.2.5). */
const FIXED_PREDICTORS: readonly (readonly number[])[] = [[], [1], [2, -1], [3, -3, 1], [4, -6, 4, -1]];

/**
 * Decodes the first frame of the bytes. Returns its samples and its length.
 * @throws AudioDecodingError if it is damaged or incomplete according to its checksum.
 */
export function decodeFlacFrame(
  bytes: Uint8Array,
  info: FlacStreamInfo,
): { readonly sound: DecodedBlock; readonly bytes: number } {
  const header = parseFlacFrameHeader(bytes, info);
  if (!header) throw createDamagedError('has a frame without a header');
  const bits = createBitReader(bytes);
  for (let n = 0; n < header.headerBytes; n++) bits.skip(8);
  const channels = Array.from({ length: header.channels }, (_, channel) => {
    // A side channel needs one more bit per sample.
    const isSideChannel = header.stereoMode === 9 ? channel === 0 : header.stereoMode !== 0 && channel === 1;
    return readSubframe(bits, header.blockSize, header.bitsPerSample + (isSideChannel ? 1 : 0));
  });
  bits.align();
  const end = bits.getPosition() / 8;
  if (computeCrc16(bytes, end) !== bits.read(16)) throw createDamagedError('has a frame with a wrong checksum');
  restoreStereo(channels, header);
  const scale = 2 ** (1 - header.bitsPerSample);
  const sound = {
    sampleRate: header.sampleRate,
    channels: channels.map((samples) => toFloats(samples, scale)),
  };
  return { sound, bytes: end + 2 };
}

function toFloats(samples: Float64Array, scale: number): Float32Array {
  const floats = new Float32Array(samples.length);
  for (let n = 0; n < floats.length; n++) floats[n] = (samples[n] ?? 0) * scale;
  return floats;
}

/** Decodes a subframe. Samples are integers in doubles: products of 33 and 15 bits, summed, stay below 53 bits. */
function readSubframe(bits: BitReader, blockSize: number, bitsPerSample: number): Float64Array {
  const samples = new Float64Array(blockSize);
  if (bits.read(1) !== 0) throw createSubframeError();
  const subframeType = bits.read(6);
  const wasted = bits.read(1) === 1 ? 1 + readUnaryNumber(bits) : 0;
  const sampleBits = bitsPerSample - wasted;
  if (sampleBits < 1) throw createSubframeError();
  if (subframeType === 0) samples.fill(readSigned(bits, sampleBits));
  else if (subframeType === 1) for (let n = 0; n < blockSize; n++) samples[n] = readSigned(bits, sampleBits);
  else if (subframeType >= 8 && subframeType <= 12)
    readPredictedSubframe(bits, samples, { sampleBits, order: subframeType - 8 });
  else if (subframeType >= 32)
    readPredictedSubframe(bits, samples, { sampleBits, order: subframeType - 31, isLinear: true });
  else throw createSubframeError();
  if (wasted > 0) for (let n = 0; n < blockSize; n++) samples[n] = (samples[n] ?? 0) * 2 ** wasted;
  return samples;
}

interface PredictedSubframe {
  readonly sampleBits: number;
  readonly order: number;
  readonly isLinear?: boolean;
}

function readPredictedSubframe(
  bits: BitReader,
  samples: Float64Array,
  { sampleBits, order, isLinear = false }: PredictedSubframe,
): void {
  if (order > samples.length) throw createDamagedError('has a frame that is shorter than its predictor');
  for (let n = 0; n < order; n++) samples[n] = readSigned(bits, sampleBits);
  let coefficients = FIXED_PREDICTORS[order] ?? [];
  let divisor = 1;
  if (isLinear) {
    const precision = bits.read(4) + 1;
    const shift = readSigned(bits, 5);
    if (precision === 16 || shift < 0) throw createDamagedError('has a frame with an invalid predictor');
    divisor = 2 ** shift;
    coefficients = Array.from({ length: order }, () => readSigned(bits, precision));
  }
  readResidual(bits, samples, order);
  for (let n = order; n < samples.length; n++) {
    let sum = 0;
    for (let k = 0; k < order; k++) sum += (coefficients[k] ?? 0) * (samples[n - 1 - k] ?? 0);
    samples[n] = (samples[n] ?? 0) + Math.floor(sum / divisor);
  }
}

/** Reads the residual (RFC 9639, 9.2.7): Rice codes in partitions, each with its own parameter. */
function readResidual(bits: BitReader, samples: Float64Array, order: number): void {
  const method = bits.read(2);
  if (method > 1) throw createDamagedError('has a frame with an invalid residual');
  const parameterBits = method === 0 ? 4 : 5;
  const escapeParameter = (1 << parameterBits) - 1;
  const partitions = 1 << bits.read(4);
  const partitionSize = samples.length / partitions;
  if (!Number.isInteger(partitionSize) || partitionSize < order)
    throw createDamagedError('has a frame with invalid residual partitions');
  for (let partition = 0; partition < partitions; partition++) {
    const [from, to] = [partition === 0 ? order : partition * partitionSize, (partition + 1) * partitionSize];
    const parameter = bits.read(parameterBits);
    if (parameter === escapeParameter) {
      const width = bits.read(5);
      for (let n = from; n < to; n++) samples[n] = width === 0 ? 0 : readSigned(bits, width);
      continue;
    }
    const unit = 2 ** parameter;
    for (let n = from; n < to; n++) {
      const value = readUnaryNumber(bits) * unit + readUnsigned(bits, parameter);
      samples[n] = value % 2 === 0 ? value / 2 : -(value + 1) / 2;
    }
  }
}

function restoreStereo(channels: readonly Float64Array[], { stereoMode }: FlacFrameHeader): void {
  const [first, second] = channels;
  if (stereoMode === 0 || !first || !second) return;
  for (let n = 0; n < first.length; n++) {
    const [a, b] = [first[n] ?? 0, second[n] ?? 0];
    if (stereoMode === 8) second[n] = a - b;
    else if (stereoMode === 9) first[n] = a + b;
    else {
      // The mid channel is half the sum; the lost bit equals the lowest bit of the side channel.
      const sum = 2 * a + (Math.abs(b) % 2);
      first[n] = (sum + b) / 2;
      second[n] = (sum - b) / 2;
    }
  }
}

/** Counts the zero bits before the next one bit. */
function readUnaryNumber(bits: BitReader): number {
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

const readUnsigned = (bits: BitReader, width: number): number =>
  width <= 24 ? bits.read(width) : bits.read(width - 16) * 2 ** 16 + bits.read(16);

function readSigned(bits: BitReader, width: number): number {
  const value = width <= 32 ? readUnsigned(bits, width) : bits.read(1) * 2 ** 32 + readUnsigned(bits, 32);
  return value >= 2 ** (width - 1) ? value - 2 ** width : value;
}

function computeCrc16(bytes: Uint8Array, to: number): number {
  let crc = 0;
  for (let at = 0; at < to; at++) crc = ((crc << 8) & 0xffff) ^ (CRC16_TABLE[(crc >> 8) ^ (bytes[at] ?? 0)] ?? 0);
  return crc;
}

/** CRC table of the polynomial 0x8005, by byte. */
const CRC16_TABLE = Uint16Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 8;
  for (let bit = 0; bit < 8; bit++) crc = crc & 0x8000 ? ((crc << 1) ^ 0x8005) & 0xffff : crc << 1;
  return crc;
});

const createSubframeError = (): AudioDecodingError => createDamagedError('has a frame with an invalid subframe');
