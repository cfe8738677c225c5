import type { BitReader } from '../bit-reader.ts';
import { createDamagedError, createCodebookError } from '../audio-decoding-error.ts';
import { SCALE_FACTOR_CODEBOOK, SPECTRAL_CODEBOOKS } from './codebooks.ts';
import { createSymbolReader, type SymbolReader } from './huffman.ts';

export interface SpectrumReader {
  /** Reads a difference of scale factors, from -60 to 60. */
  readScaleFactorDelta(bits: BitReader): number;
  /** Reads the quantized values of one band to the indexes from `from` to before `to`. @throws AudioDecodingError */
  readValues(
    bits: BitReader,
    book: number,
    into: Float64Array,
    range: { readonly from: number; readonly to: number },
  ): void;
  /** Raises quantized values to the power of 4/3, keeps their sign, and multiplies them by `gain`, in place. */
  dequantize(spectrum: Float64Array, from: number, to: number, gain: number): void;
}

interface SpectralBook {
  readonly readSymbol: SymbolReader;
  readonly valuesAtOnce: 2 | 4;
  readonly isSigned: boolean;
  /** Values of all symbols, one symbol after another. */
  readonly values: Int8Array;
}

/** The highest value of the last codebook is followed by an escape sequence (ISO/IEC 14496-3, 4.6.3.3). */
const ESCAPE_CODEBOOK = 11;
const ESCAPE_VALUE = 16;
const ESCAPE_BITS_MAX = 12;

/** Number of precomputed powers; larger values are rare. */
const POWER_TABLE_LENGTH = 1024;

export function createSpectrumReader(): SpectrumReader {
  const readScale = createSymbolReader(SCALE_FACTOR_CODEBOOK);
  const books = SPECTRAL_CODEBOOKS.map((table): SpectralBook => {
    const { dimension, base, isSigned } = table;
    const values = new Int8Array(dimension * base ** dimension);
    for (let symbol = 0, at = 0; symbol < base ** dimension; symbol++) {
      for (let n = dimension - 1; n >= 0; n--) {
        values[at++] = (Math.floor(symbol / base ** n) % base) - (isSigned ? (base - 1) / 2 : 0);
      }
    }
    return { readSymbol: createSymbolReader(table), valuesAtOnce: dimension, isSigned, values };
  });
  const powers = Float64Array.from({ length: POWER_TABLE_LENGTH }, (_, value) => value ** (4 / 3));

  return {
    readScaleFactorDelta: (bits) => readScale(bits) - 60,
    readValues(bits, number, into, { from, to }) {
      const book = books[number - 1];
      if (!book) throw createCodebookError();
      const { readSymbol, valuesAtOnce, isSigned, values } = book;
      for (let at = from; at < to; at += valuesAtOnce) {
        const first = readSymbol(bits) * valuesAtOnce;
        for (let n = 0; n < valuesAtOnce; n++) {
          const value = values[first + n] ?? 0;
          into[at + n] = value !== 0 && !isSigned && bits.read(1) === 1 ? -value : value;
        }
        if (number !== ESCAPE_CODEBOOK) continue;
        for (let n = at; n < at + 2; n++) {
          const value = into[n] ?? 0;
          if (Math.abs(value) === ESCAPE_VALUE) into[n] = Math.sign(value) * readEscape(bits);
        }
      }
    },
    dequantize(spectrum, from, to, gain) {
      for (let at = from; at < to; at++) {
        const value = spectrum[at] ?? 0;
        if (value === 0) continue;
        const size = Math.abs(value);
        const power = size < POWER_TABLE_LENGTH ? (powers[size] ?? 0) : size ** (4 / 3);
        spectrum[at] = value < 0 ? -power * gain : power * gain;
      }
    },
  };
}

function readEscape(bits: BitReader): number {
  let length = 4;
  while (bits.read(1) === 1) {
    length++;
    if (length > ESCAPE_BITS_MAX) throw createDamagedError('has a frame with a value that is too large');
  }
  return (1 << length) + bits.read(length);
}
