import { damaged } from '../unreadable.ts';
import { boxAt } from './boxes.ts';

/** Where the samples of a track stand: ISO/IEC 14496-12, 8.7. */
export interface SampleTable {
  readonly count: number;
  /** Places in the file, in the order in which they are played. @throws Unreadable */
  places(): Generator<SamplePlace, void, undefined>;
}

export interface SamplePlace {
  readonly at: number;
  readonly bytes: number;
}

/** Ours: more than 12 hours have in the shortest frames. */
const SAMPLES_MAX = 8_000_000;

/** Read where it stands in the index: nothing is copied. @throws Unreadable */
export function readSampleTable(table: DataView): SampleTable {
  const sizes = boxAt(table, 'stsz');
  const packed = boxAt(table, 'stz2');
  const runs = boxAt(table, 'stsc');
  const chunks = boxAt(table, 'stco');
  const farChunks = boxAt(table, 'co64');
  const sizeBox = sizes ?? packed;
  if (!sizeBox || sizeBox.byteLength < 12 || !runs || runs.byteLength < 8)
    throw damaged('has an index that is not whole');
  const same = sizes ? sizes.getUint32(4) : 0;
  const width = sizes ? 32 : (packed?.getUint8(7) ?? 0);
  const stated = sizeBox.getUint32(8);
  const listed = Math.floor(((sizeBox.byteLength - 12) * 8) / Math.max(width, 1));
  const count = same > 0 ? stated : Math.min(stated, listed);
  if (count > SAMPLES_MAX) throw damaged('has an index of more frames than 12 hours have');

  const sizeOf = (sample: number): number => {
    if (same > 0) return same;
    const at = 12 + Math.floor((sample * width) / 8);
    if (width === 32) return sizeBox.getUint32(at);
    if (width === 16) return sizeBox.getUint16(at);
    if (width === 8) return sizeBox.getUint8(at);
    return (sizeBox.getUint8(at) >> (sample % 2 === 0 ? 4 : 0)) & 15;
  };
  const offsets = farChunks ?? chunks;
  const offsetBytes = farChunks ? 8 : 4;
  const chunkCount =
    offsets && offsets.byteLength >= 8
      ? Math.min(offsets.getUint32(4), Math.floor((offsets.byteLength - 8) / offsetBytes))
      : 0;
  const offsetOf = (chunk: number): number =>
    farChunks ? Number(farChunks.getBigUint64(8 + 8 * chunk)) : (chunks?.getUint32(8 + 4 * chunk) ?? 0);
  const runCount = Math.min(runs.getUint32(4), Math.floor((runs.byteLength - 8) / 12));

  return {
    count,
    *places() {
      let sample = 0;
      for (let run = 0; run < runCount && sample < count; run++) {
        const first = runs.getUint32(8 + 12 * run) - 1;
        const next = run + 1 < runCount ? runs.getUint32(8 + 12 * (run + 1)) - 1 : chunkCount;
        const perChunk = runs.getUint32(12 + 12 * run);
        if (first < 0 || next < first) throw damaged('has an index that is not whole');
        for (let chunk = first; chunk < Math.min(next, chunkCount) && sample < count; chunk++) {
          let at = offsetOf(chunk);
          for (let n = 0; n < perChunk && sample < count; n++, sample++) {
            const bytes = sizeOf(sample);
            yield { at, bytes };
            at += bytes;
          }
        }
      }
    },
  };
}
