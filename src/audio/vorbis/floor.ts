import { damaged, unsupported } from '../unreadable.ts';
import { bitsOf, type Codebook } from './codebook.ts';
import type { LowBitReader } from './low-bit-reader.ts';

/** The coarse form of a spectrum, of kind 1: Vorbis I specification, 7. */
export interface Floor {
  /** Heights at the points of the form, or undefined where the channel is silent. @throws Unreadable */
  read(bits: LowBitReader): Int32Array | undefined;
  /** Multiplies a spectrum by its form. */
  apply(heights: Int32Array, spectrum: Float64Array): void;
}

interface PointClass {
  readonly dimensions: number;
  readonly choiceBits: number;
  readonly choiceBook: number;
  /** -1 for none. */
  readonly books: readonly number[];
}

/** @throws Unreadable */
export function readFloor(bits: LowBitReader, books: readonly Codebook[]): Floor {
  if (bits.read(16) !== 1) throw unsupported('is Vorbis with floors of kind 0, which are not read');
  const bookAt = (index: number): Codebook => {
    const book = books[index];
    if (!book) throw damaged('names a code that is none');
    return book;
  };
  const partitions = Array.from({ length: bits.read(5) }, () => bits.read(4));
  const classes = Array.from({ length: Math.max(-1, ...partitions) + 1 }, (): PointClass => {
    const dimensions = bits.read(3) + 1;
    const choiceBits = bits.read(2);
    const choiceBook = choiceBits > 0 ? bits.read(8) : -1;
    return {
      dimensions,
      choiceBits,
      choiceBook,
      books: Array.from({ length: 1 << choiceBits }, () => bits.read(8) - 1),
    };
  });
  const step = bits.read(2) + 1;
  const rangeBits = bits.read(4);
  const places = [0, 1 << rangeBits];
  for (const index of partitions) {
    for (let n = 0; n < (classes[index]?.dimensions ?? 0); n++) places.push(bits.read(rangeBits));
  }
  const sorted = [...places.keys()].toSorted((a, b) => (places[a] ?? 0) - (places[b] ?? 0));
  if (new Set(places).size < places.length) throw damaged('has a floor with a point twice');
  const between = places.map((place, index) => neighbours(places, place, index));
  const range = [256, 128, 86, 64][step - 1] ?? 256;
  const heightBits = bitsOf(range - 1);

  const readHeights = (bits: LowBitReader): Int32Array => {
    const heights = new Int32Array(places.length);
    heights[0] = bits.read(heightBits);
    heights[1] = bits.read(heightBits);
    let at = 2;
    for (const index of partitions) {
      const { dimensions, choiceBits, choiceBook, books: choices } = classes[index] ?? NO_CLASS;
      let choice = choiceBits > 0 ? bookAt(choiceBook).readWord(bits) : 0;
      for (let n = 0; n < dimensions; n++) {
        const book = choices[choice & ((1 << choiceBits) - 1)] ?? -1;
        choice >>>= choiceBits;
        heights[at++] = book >= 0 ? bookAt(book).readWord(bits) : 0;
      }
    }
    return heights;
  };

  /** Each point is told as a difference from the line between its neighbours: 7.2.4, step 1. */
  const toFinal = (told: Int32Array): { readonly finals: Int32Array; readonly isUsed: readonly boolean[] } => {
    const finals = new Int32Array(told.length);
    const isUsed = Array.from({ length: told.length }, (_, at) => at < 2);
    finals.set(told.subarray(0, 2));
    for (let at = 2; at < told.length; at++) {
      const [low, high] = between[at] ?? [0, 1];
      const predicted = pointOn(
        [places[low] ?? 0, finals[low] ?? 0],
        [places[high] ?? 0, finals[high] ?? 0],
        places[at] ?? 0,
      );
      const difference = told[at] ?? 0;
      finals[at] = predicted;
      if (difference === 0) continue;
      isUsed[low] = isUsed[high] = isUsed[at] = true;
      const [above, below] = [range - predicted, predicted];
      const room = 2 * Math.min(above, below);
      if (difference >= room)
        finals[at] = above > below ? difference - below + predicted : predicted - difference + above - 1;
      else finals[at] = predicted + (difference % 2 === 1 ? -(difference + 1) / 2 : difference / 2);
    }
    return { finals, isUsed };
  };

  return {
    read: (bits) => (bits.read(1) === 0 ? undefined : readHeights(bits)),
    apply(told, spectrum) {
      const { finals, isUsed } = toFinal(told);
      let [x, y] = [0, (finals[sorted[0] ?? 0] ?? 0) * step];
      for (const at of sorted.slice(1)) {
        if (!isUsed[at]) continue;
        const [nextX, nextY] = [places[at] ?? 0, (finals[at] ?? 0) * step];
        multiplyLine(spectrum, [x, y], [nextX, nextY]);
        [x, y] = [nextX, nextY];
      }
      if (x < spectrum.length) multiplyLine(spectrum, [x, y], [spectrum.length, y]);
    },
  };
}

const NO_CLASS: PointClass = { dimensions: 0, choiceBits: 0, choiceBook: -1, books: [] };

/** Of the points before it, the nearest ones on either side. */
function neighbours(places: readonly number[], place: number, index: number): readonly [low: number, high: number] {
  let [low, high] = [0, 1];
  for (let at = 0; at < index; at++) {
    const other = places[at] ?? 0;
    if (other < place && other >= (places[low] ?? 0)) low = at;
    if (other > place && other <= (places[high] ?? 0)) high = at;
  }
  return [low, high];
}

type Point = readonly [x: number, y: number];

/** 9.2.6: in whole numbers, towards the first point. */
function pointOn([x0, y0]: Point, [x1, y1]: Point, x: number): number {
  const off = Math.trunc((Math.abs(y1 - y0) * (x - x0)) / (x1 - x0));
  return y1 < y0 ? y0 - off : y0 + off;
}

/** 10.1: what heights stand for, in steps of 140/256 decibels below 1. */
const SIZES = Float64Array.from({ length: 256 }, (_, y) => 10 ** (((y - 255) * 140) / 256 / 20));

/** 9.2.7 */
function multiplyLine(spectrum: Float64Array, [x0, y0]: Point, [x1, y1]: Point): void {
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
    spectrum[x] = (spectrum[x] ?? 0) * (SIZES[Math.min(Math.max(y, 0), 255)] ?? 0);
  }
}
