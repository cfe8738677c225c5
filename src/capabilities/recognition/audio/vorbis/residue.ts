import { createDamagedError, createNoCodebookError } from '../audio-decoding-error.ts';
import type { Codebook } from './codebook.ts';
import type { LsbBitReader } from './lsb-bit-reader.ts';

/** Residue: the spectra after division by their floors (Vorbis I specification, section 8). */
export interface Residue {
  /**
   * Adds the residue to the spectra of some channels; undefined for silent ones. If the packet ends, the rest stays 0.
   * @throws AudioDecodingError
   */
  read(bits: LsbBitReader, spectra: readonly (Float64Array | undefined)[], size: number): void;
}

const PASS_COUNT = 8;

/** Reads a residue configuration. @throws AudioDecodingError */
export function readResidue(bits: LsbBitReader, books: readonly Codebook[]): Residue {
  const residueType = bits.read(16);
  if (residueType > 2) throw createDamagedError('has an invalid residue');
  const [begin, end] = [bits.read(24), bits.read(24)];
  const partitionSize = bits.read(24) + 1;
  const classCount = bits.read(6) + 1;
  const classbook = books[bits.read(8)];
  const cascades = Array.from({ length: classCount }, () => {
    const low = bits.read(3);
    return low + (bits.read(1) === 1 ? bits.read(5) * 8 : 0);
  });
  const classes = cascades.map((cascade) =>
    Array.from({ length: PASS_COUNT }, (_, pass) => {
      if ((cascade & (1 << pass)) === 0) return undefined;
      const book = books[bits.read(8)];
      if (!book?.hasVectors) throw createNoCodebookError();
      return book;
    }),
  );
  if (!classbook) throw createNoCodebookError();

  const decodeVectors = (bits: LsbBitReader, vectors: readonly (Float64Array | undefined)[], size: number): void => {
    const [from, to] = [Math.min(begin, size), Math.min(end, size)];
    const partitionCount = Math.floor((to - from) / partitionSize);
    const classifications = vectors.map(() => new Uint8Array(partitionCount + classbook.dimensions));
    for (let pass = 0; pass < PASS_COUNT; pass++) {
      for (let partition = 0; partition < partitionCount;) {
        if (pass === 0) {
          for (const [index, vector] of vectors.entries()) {
            if (!vector) continue;
            let entry = classbook.readEntry(bits);
            for (let n = classbook.dimensions - 1; n >= 0; n--) {
              const choices = classifications[index];
              if (choices) choices[partition + n] = entry % classCount;
              entry = Math.floor(entry / classCount);
            }
          }
        }
        for (let n = 0; n < classbook.dimensions && partition < partitionCount; n++, partition++) {
          for (const [index, vector] of vectors.entries()) {
            const book = vector && classes[classifications[index]?.[partition] ?? 0]?.[pass];
            if (book)
              addPartition(bits, book, {
                vector,
                from: from + partition * partitionSize,
                size: partitionSize,
                isInterleaved: residueType === 0,
              });
          }
        }
      }
    }
  };

  return {
    read(bits, spectra, size) {
      if (residueType < 2) return decodeVectors(bits, spectra, size);
      if (spectra.every((spectrum) => !spectrum)) return;
      // The values of all channels are interleaved.
      const all = new Float64Array(size * spectra.length);
      try {
        decodeVectors(bits, [all], all.length);
      } finally {
        for (const [channel, spectrum] of spectra.entries()) {
          if (!spectrum) continue;
          for (let n = 0; n < size; n++) spectrum[n] = all[n * spectra.length + channel] ?? 0;
        }
      }
    },
  };
}

interface ResiduePartition {
  readonly vector: Float64Array;
  readonly from: number;
  readonly size: number;
  /** Residue type 0: the values of a vector are spread over the partition. */
  readonly isInterleaved: boolean;
}

function addPartition(
  bits: LsbBitReader,
  book: Codebook,
  { vector, from, size, isInterleaved }: ResiduePartition,
): void {
  const { dimensions } = book;
  const step = isInterleaved ? Math.floor(size / dimensions) : 1;
  const entryCount = isInterleaved ? step : Math.ceil(size / dimensions);
  for (let n = 0; n < entryCount; n++) {
    const entry = book.readEntry(bits);
    const first = from + (isInterleaved ? n : n * dimensions);
    for (let k = 0; k < dimensions; k++) {
      const at = first + k * step;
      if (at < from + size) vector[at] = (vector[at] ?? 0) + book.getVectorValue(entry, k);
    }
  }
}
