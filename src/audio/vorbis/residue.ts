import { damaged } from '../unreadable.ts';
import type { Codebook } from './codebook.ts';
import type { LowBitReader } from './low-bit-reader.ts';

/** What remains of spectra without their form: Vorbis I specification, 8. */
export interface Residue {
  /**
   * Adds to the spectra of some channels; undefined stands for one that is silent. A packet that ends in it leaves the rest 0.
   * @throws Unreadable
   */
  read(bits: LowBitReader, spectra: readonly (Float64Array | undefined)[], size: number): void;
}

const PASSES = 8;

/** @throws Unreadable */
export function readResidue(bits: LowBitReader, books: readonly Codebook[]): Residue {
  const kind = bits.read(16);
  if (kind > 2) throw damaged('has a residue that is none');
  const [begin, end] = [bits.read(24), bits.read(24)];
  const partSize = bits.read(24) + 1;
  const classCount = bits.read(6) + 1;
  const classBook = books[bits.read(8)];
  const cascades = Array.from({ length: classCount }, () => {
    const low = bits.read(3);
    return low + (bits.read(1) === 1 ? bits.read(5) * 8 : 0);
  });
  const classes = cascades.map((cascade) =>
    Array.from({ length: PASSES }, (_, pass) => {
      if ((cascade & (1 << pass)) === 0) return undefined;
      const book = books[bits.read(8)];
      if (!book?.hasVectors) throw damaged('names a code that is none');
      return book;
    }),
  );
  if (!classBook) throw damaged('names a code that is none');

  const readInto = (bits: LowBitReader, vectors: readonly (Float64Array | undefined)[], size: number): void => {
    const [from, to] = [Math.min(begin, size), Math.min(end, size)];
    const parts = Math.floor((to - from) / partSize);
    const chosen = vectors.map(() => new Uint8Array(parts + classBook.dimensions));
    for (let pass = 0; pass < PASSES; pass++) {
      for (let part = 0; part < parts;) {
        if (pass === 0) {
          for (const [index, vector] of vectors.entries()) {
            if (!vector) continue;
            let word = classBook.readWord(bits);
            for (let n = classBook.dimensions - 1; n >= 0; n--) {
              const choices = chosen[index];
              if (choices) choices[part + n] = word % classCount;
              word = Math.floor(word / classCount);
            }
          }
        }
        for (let n = 0; n < classBook.dimensions && part < parts; n++, part++) {
          for (const [index, vector] of vectors.entries()) {
            const book = vector && classes[chosen[index]?.[part] ?? 0]?.[pass];
            if (book)
              addPart(bits, book, { vector, from: from + part * partSize, size: partSize, isSpread: kind === 0 });
          }
        }
      }
    }
  };

  return {
    read(bits, spectra, size) {
      if (kind < 2) return readInto(bits, spectra, size);
      if (spectra.every((spectrum) => !spectrum)) return;
      // All channels in turn, as one.
      const all = new Float64Array(size * spectra.length);
      try {
        readInto(bits, [all], all.length);
      } finally {
        for (const [channel, spectrum] of spectra.entries()) {
          if (!spectrum) continue;
          for (let n = 0; n < size; n++) spectrum[n] = all[n * spectra.length + channel] ?? 0;
        }
      }
    },
  };
}

interface Part {
  readonly vector: Float64Array;
  readonly from: number;
  readonly size: number;
  /** The values of a vector stand apart, and not one after another. */
  readonly isSpread: boolean;
}

function addPart(bits: LowBitReader, book: Codebook, { vector, from, size, isSpread }: Part): void {
  const { dimensions } = book;
  const step = isSpread ? Math.floor(size / dimensions) : 1;
  const words = isSpread ? step : Math.ceil(size / dimensions);
  for (let n = 0; n < words; n++) {
    const word = book.readWord(bits);
    const first = from + (isSpread ? n : n * dimensions);
    for (let k = 0; k < dimensions; k++) {
      const at = first + k * step;
      if (at < from + size) vector[at] = (vector[at] ?? 0) + book.valueOf(word, k);
    }
  }
}
