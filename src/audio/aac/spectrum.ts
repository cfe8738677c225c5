import type { BitReader } from '../bit-reader.ts';
import { damaged } from '../unreadable.ts';
import { SCALE_TABLE, SPECTRAL_TABLES } from './codebooks.ts';
import { createReadSymbol, type ReadSymbol } from './huffman.ts';

export interface SpectrumReader {
  /** A difference of scale factors, -60 to 60. */
  readScaleStep(bits: BitReader): number;
  /** Whole numbers of one band, into the places from `from` to before `to`. @throws Unreadable */
  readValues(
    bits: BitReader,
    book: number,
    into: Float64Array,
    place: { readonly from: number; readonly to: number },
  ): void;
  /** Whole numbers to the power of 4/3 with their sign, times `gain`, in place. */
  expand(spectrum: Float64Array, from: number, to: number, gain: number): void;
}

interface Book {
  readonly readSymbol: ReadSymbol;
  readonly valuesAtOnce: 2 | 4;
  readonly isSigned: boolean;
  /** The values of each symbol, one after another. */
  readonly values: Int8Array;
}

/** The highest value of the last codebook stands for one that is written out: ISO/IEC 14496-3, 4.6.3.3. */
const ESCAPE_BOOK = 11;
const ESCAPE = 16;
const ESCAPE_BITS_MAX = 12;

/** Values of the usual size; larger ones are rare. */
const POWERS = 1024;

export function createSpectrumReader(): SpectrumReader {
  const readScale = createReadSymbol(SCALE_TABLE);
  const books = SPECTRAL_TABLES.map((table): Book => {
    const { valuesAtOnce, base, isSigned } = table;
    const values = new Int8Array(valuesAtOnce * base ** valuesAtOnce);
    for (let symbol = 0, at = 0; symbol < base ** valuesAtOnce; symbol++) {
      for (let n = valuesAtOnce - 1; n >= 0; n--) {
        values[at++] = (Math.floor(symbol / base ** n) % base) - (isSigned ? (base - 1) / 2 : 0);
      }
    }
    return { readSymbol: createReadSymbol(table), valuesAtOnce, isSigned, values };
  });
  const powers = Float64Array.from({ length: POWERS }, (_, value) => value ** (4 / 3));

  return {
    readScaleStep: (bits) => readScale(bits) - 60,
    readValues(bits, number, into, { from, to }) {
      const book = books[number - 1];
      if (!book) throw damaged('has a frame with a codebook that is none');
      const { readSymbol, valuesAtOnce, isSigned, values } = book;
      for (let at = from; at < to; at += valuesAtOnce) {
        const first = readSymbol(bits) * valuesAtOnce;
        for (let n = 0; n < valuesAtOnce; n++) {
          const value = values[first + n] ?? 0;
          into[at + n] = value !== 0 && !isSigned && bits.read(1) === 1 ? -value : value;
        }
        if (number !== ESCAPE_BOOK) continue;
        for (let n = at; n < at + 2; n++) {
          const value = into[n] ?? 0;
          if (Math.abs(value) === ESCAPE) into[n] = Math.sign(value) * readEscape(bits);
        }
      }
    },
    expand(spectrum, from, to, gain) {
      for (let at = from; at < to; at++) {
        const value = spectrum[at] ?? 0;
        if (value === 0) continue;
        const size = Math.abs(value);
        const power = size < POWERS ? (powers[size] ?? 0) : size ** (4 / 3);
        spectrum[at] = value < 0 ? -power * gain : power * gain;
      }
    },
  };
}

function readEscape(bits: BitReader): number {
  let length = 4;
  while (bits.read(1) === 1) {
    length++;
    if (length > ESCAPE_BITS_MAX) throw damaged('has a frame with a value that is too large');
  }
  return (1 << length) + bits.read(length);
}
