import { createDamagedError } from '../audio-decoding-error.ts';
import { findBox } from './boxes.ts';

/** Locations of a track's samples (ISO/IEC 14496-12, 8.7). */
export interface SampleTable {
  readonly count: number;
  /** Iterates the locations in the order of playback. @throws AudioDecodingError */
  iterateSamples(): Generator<SampleLocation, void, undefined>;
}

export interface SampleLocation {
  readonly position: number;
  readonly bytes: number;
}

/** More samples than 12 hours of audio have with the shortest frames. */
const SAMPLES_MAX = 8_000_000;

/** Creates a view of the sample table without copying it. @throws AudioDecodingError */
export function readSampleTable(table: DataView): SampleTable {
  const sizes = findBox(table, 'stsz');
  const packed = findBox(table, 'stz2');
  const runs = findBox(table, 'stsc');
  const chunks = findBox(table, 'stco');
  const farChunks = findBox(table, 'co64');
  const sizeBox = sizes ?? packed;
  if (!sizeBox || sizeBox.byteLength < 12 || !runs || runs.byteLength < 8)
    throw createDamagedError('has an incomplete index');
  const uniformBytes = sizes ? sizes.getUint32(4) : 0;
  const sizeBits = sizes ? 32 : (packed?.getUint8(7) ?? 0);
  const declaredCount = sizeBox.getUint32(8);
  const listedCount = Math.floor(((sizeBox.byteLength - 12) * 8) / Math.max(sizeBits, 1));
  const count = uniformBytes > 0 ? declaredCount : Math.min(declaredCount, listedCount);
  if (count > SAMPLES_MAX) throw createDamagedError('has an index with more frames than 12 hours of audio contain');

  const getSampleBytes = (sample: number): number => {
    if (uniformBytes > 0) return uniformBytes;
    const at = 12 + Math.floor((sample * sizeBits) / 8);
    if (sizeBits === 32) return sizeBox.getUint32(at);
    if (sizeBits === 16) return sizeBox.getUint16(at);
    if (sizeBits === 8) return sizeBox.getUint8(at);
    return (sizeBox.getUint8(at) >> (sample % 2 === 0 ? 4 : 0)) & 15;
  };
  const offsets = farChunks ?? chunks;
  const offsetBytes = farChunks ? 8 : 4;
  const chunkCount =
    offsets && offsets.byteLength >= 8
      ? Math.min(offsets.getUint32(4), Math.floor((offsets.byteLength - 8) / offsetBytes))
      : 0;
  const getChunkOffset = (chunk: number): number =>
    farChunks ? Number(farChunks.getBigUint64(8 + 8 * chunk)) : (chunks?.getUint32(8 + 4 * chunk) ?? 0);
  const runCount = Math.min(runs.getUint32(4), Math.floor((runs.byteLength - 8) / 12));

  return {
    count,
    *iterateSamples() {
      let sample = 0;
      for (let run = 0; run < runCount && sample < count; run++) {
        const first = runs.getUint32(8 + 12 * run) - 1;
        const next = run + 1 < runCount ? runs.getUint32(8 + 12 * (run + 1)) - 1 : chunkCount;
        const perChunk = runs.getUint32(12 + 12 * run);
        if (first < 0 || next < first) throw createDamagedError('has an incomplete index');
        for (let chunk = first; chunk < Math.min(next, chunkCount) && sample < count; chunk++) {
          let at = getChunkOffset(chunk);
          for (let n = 0; n < perChunk && sample < count; n++, sample++) {
            const bytes = getSampleBytes(sample);
            yield { position: at, bytes };
            at += bytes;
          }
        }
      }
    },
  };
}
