import { createDamagedError, createUnsupportedFormatError, createNoCodebookError } from '../audio-decoding-error.ts';
import { countNumberBits, type Codebook } from './codebook.ts';
import type { LsbBitReader } from './lsb-bit-reader.ts';

/** Floor of type 1: the coarse curve of a spectrum (Vorbis I specification, section 7). */
export interface Floor {
  /** Reads the coded Y values of the curve, or undefined if the channel is silent. @throws AudioDecodingError */
  readYValues(bits: LsbBitReader): Int32Array | undefined;
  /** Multiplies a spectrum by the curve. */
  apply(yValues: Int32Array, spectrum: Float64Array): void;
}

interface FloorClass {
  readonly dimensions: number;
  readonly subclassBits: number;
  readonly masterBook: number;
  /** -1: none. */
  readonly subclassBooks: readonly number[];
}

/** Reads a floor configuration. @throws AudioDecodingError */
export function readFloor(bits: LsbBitReader, books: readonly Codebook[]): Floor {
  if (bits.read(16) !== 1) throw createUnsupportedFormatError('Vorbis with floor type 0');
  const getBook = (index: number): Codebook => {
    const book = books[index];
    if (!book) throw createNoCodebookError();
    return book;
  };
  const partitions = Array.from({ length: bits.read(5) }, () => bits.read(4));
  const classes = Array.from({ length: Math.max(-1, ...partitions) + 1 }, (): FloorClass => {
    const dimensions = bits.read(3) + 1;
    const choiceBits = bits.read(2);
    const choiceBook = choiceBits > 0 ? bits.read(8) : -1;
    return {
      dimensions,
      subclassBits: choiceBits,
      masterBook: choiceBook,
      subclassBooks: Array.from({ length: 1 << choiceBits }, () => bits.read(8) - 1),
    };
  });
  const multiplier = bits.read(2) + 1;
  const rangeBits = bits.read(4);
  const xValues = [0, 1 << rangeBits];
  for (const index of partitions) {
    for (let n = 0; n < (classes[index]?.dimensions ?? 0); n++) xValues.push(bits.read(rangeBits));
  }
  const sorted = [...xValues.keys()].toSorted((a, b) => (xValues[a] ?? 0) - (xValues[b] ?? 0));
  if (new Set(xValues).size < xValues.length) throw createDamagedError('has a floor with duplicate points');
  const neighbors = xValues.map((place, index) => findNeighbors(xValues, place, index));
  const range = [256, 128, 86, 64][multiplier - 1] ?? 256;
  const yBits = countNumberBits(range - 1);

  const readCurve = (bits: LsbBitReader): Int32Array => {
    const yValues = new Int32Array(xValues.length);
    yValues[0] = bits.read(yBits);
    yValues[1] = bits.read(yBits);
    let at = 2;
    for (const index of partitions) {
      const { dimensions, subclassBits, masterBook, subclassBooks: books } = classes[index] ?? EMPTY_CLASS;
      let subclasses = subclassBits > 0 ? getBook(masterBook).readEntry(bits) : 0;
      for (let n = 0; n < dimensions; n++) {
        const book = books[subclasses & ((1 << subclassBits) - 1)] ?? -1;
        subclasses >>>= subclassBits;
        yValues[at++] = book >= 0 ? getBook(book).readEntry(bits) : 0;
      }
    }
    return yValues;
  };

  /**
   * Computes the curve: each point is coded as a difference to the line between its neighbors (section 7.2.4, step 1).
   */
  const computeCurve = (codedY: Int32Array): { readonly finals: Int32Array; readonly isUsed: readonly boolean[] } => {
    const finals = new Int32Array(codedY.length);
    const isUsed = Array.from({ length: codedY.length }, (_, at) => at < 2);
    finals.set(codedY.subarray(0, 2));
    for (let at = 2; at < codedY.length; at++) {
      const [low, high] = neighbors[at] ?? [0, 1];
      const predicted = renderPoint(
        [xValues[low] ?? 0, finals[low] ?? 0],
        [xValues[high] ?? 0, finals[high] ?? 0],
        xValues[at] ?? 0,
      );
      const difference = codedY[at] ?? 0;
      finals[at] = predicted;
      if (difference === 0) continue;
      isUsed[low] = isUsed[high] = isUsed[at] = true;
      const [above, below] = [range - predicted, predicted];
      const differenceRange = 2 * Math.min(above, below);
      if (difference >= differenceRange)
        finals[at] = above > below ? difference - below + predicted : predicted - difference + above - 1;
      else finals[at] = predicted + (difference % 2 === 1 ? -(difference + 1) / 2 : difference / 2);
    }
    return { finals, isUsed };
  };

  return {
    readYValues: (bits) => (bits.read(1) === 0 ? undefined : readCurve(bits)),
    apply(codedY, spectrum) {
      const { finals, isUsed } = computeCurve(codedY);
      let [x, y] = [0, (finals[sorted[0] ?? 0] ?? 0) * multiplier];
      for (const at of sorted.slice(1)) {
        if (!isUsed[at]) continue;
        const [nextX, nextY] = [xValues[at] ?? 0, (finals[at] ?? 0) * multiplier];
        renderLine(spectrum, [x, y], [nextX, nextY]);
        [x, y] = [nextX, nextY];
      }
      if (x < spectrum.length) renderLine(spectrum, [x, y], [spectrum.length, y]);
    },
  };
}

const EMPTY_CLASS: FloorClass = { dimensions: 0, subclassBits: 0, masterBook: -1, subclassBooks: [] };

/** Finds the nearest preceding points on both sides. */
function findNeighbors(xValues: readonly number[], x: number, index: number): readonly [low: number, high: number] {
  let [low, high] = [0, 1];
  for (let at = 0; at < index; at++) {
    const other = xValues[at] ?? 0;
    if (other < x && other >= (xValues[low] ?? 0)) low = at;
    if (other > x && other <= (xValues[high] ?? 0)) high = at;
  }
  return [low, high];
}

type Point = readonly [x: number, y: number];

/** Interpolates a line with integers, rounded towards the first point (section 9.2.6). */
function renderPoint([x0, y0]: Point, [x1, y1]: Point, x: number): number {
  const off = Math.trunc((Math.abs(y1 - y0) * (x - x0)) / (x1 - x0));
  return y1 < y0 ? y0 - off : y0 + off;
}

/** Amplitudes of Y values: steps of 140/256 dB below 1 (section 10.1). */
const INVERSE_DB_TABLE = Float64Array.from({ length: 256 }, (_, y) => 10 ** (((y - 255) * 140) / 256 / 20));

/** Multiplies the spectrum by a line of the curve (section 9.2.7). */
function renderLine(spectrum: Float64Array, [x0, y0]: Point, [x1, y1]: Point): void {
  const width = x1 - x0;
  const base = Math.trunc((y1 - y0) / width);
  const slope = y1 < y0 ? base - 1 : base + 1;
  const rest = Math.abs(y1 - y0) - Math.abs(base) * width;
  let y = y0;
  let error = 0;
  for (let x = x0; x < Math.min(x1, spectrum.length); x++) {
    if (x > x0) {
      error += rest;
      y += error >= width ? slope : base;
      if (error >= width) error -= width;
    }
    spectrum[x] = (spectrum[x] ?? 0) * (INVERSE_DB_TABLE[Math.min(Math.max(y, 0), 255)] ?? 0);
  }
}
