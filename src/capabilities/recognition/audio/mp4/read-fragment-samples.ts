import { createDamagedError } from '../audio-decoding-error.ts';
import { findBox, iterateBoxes } from './boxes.ts';
import type { SampleLocation } from './sample-table.ts';
import type { AudioTrack } from './audio-track.ts';

/** Flags of a track fragment header and a track run (ISO/IEC 14496-12, 8.8.7 and 8.8.8). */
const HAS_BASE = 0x1;
const HAS_DESCRIPTION = 0x2;
const HAS_DURATION = 0x8;
const HAS_SIZE = 0x10;
const RUN_HAS_OFFSET = 0x1;
const RUN_HAS_FIRST_FLAGS = 0x4;
const SAMPLE_HAS_DURATION = 0x100;
const SAMPLE_HAS_SIZE = 0x200;
const SAMPLE_HAS_FLAGS = 0x400;
const SAMPLE_HAS_OFFSET = 0x800;

/**
 * Reads the locations of a track's samples in a fragment.
 * @param fragment Content of the `moof` box.
 * @param at Position of that box in the file.
 * @throws AudioDecodingError
 */
export function readFragmentSamples(fragment: DataView, at: number, track: AudioTrack): readonly SampleLocation[] {
  const samples: SampleLocation[] = [];
  for (const { name, body } of iterateBoxes(fragment)) {
    if (name !== 'traf') continue;
    const header = findBox(body, 'tfhd');
    if (!header || header.byteLength < 8) throw createDamagedError('has an incomplete index');
    if (header.getUint32(4) !== track.id) continue;
    const { base, sampleBytes } = readTrackFragmentHeader(header, at, track);
    let next = base;
    for (const { name: inside, body: run } of iterateBoxes(body)) {
      if (inside === 'trun') next = readRun(run, { base, next, sampleBytes, samples });
    }
  }
  return samples;
}

function readTrackFragmentHeader(
  header: DataView,
  at: number,
  track: AudioTrack,
): { readonly base: number; readonly sampleBytes: number } {
  const flags = header.getUint32(0) & 0xff_ffff;
  let field = 8;
  const has = (flag: number, bytes: number): number | undefined => {
    if ((flags & flag) === 0) return undefined;
    const from = field;
    field += bytes;
    if (field > header.byteLength) throw createDamagedError('has an incomplete index');
    return from;
  };
  const base = has(HAS_BASE, 8);
  has(HAS_DESCRIPTION, 4);
  has(HAS_DURATION, 4);
  const size = has(HAS_SIZE, 4);
  return {
    base: base === undefined ? at : Number(header.getBigUint64(base)),
    sampleBytes: size === undefined ? track.fragmentSampleBytes : header.getUint32(size),
  };
}

interface RunOptions {
  readonly base: number;
  readonly next: number;
  readonly sampleBytes: number;
  readonly samples: SampleLocation[];
}

/** Reads a track run. Returns the default position of the next run. */
function readRun(run: DataView, { base, next, sampleBytes, samples }: RunOptions): number {
  if (run.byteLength < 8) throw createDamagedError('has an incomplete index');
  const flags = run.getUint32(0) & 0xff_ffff;
  const count = run.getUint32(4);
  let field = 8;
  let at = next;
  if (flags & RUN_HAS_OFFSET && run.byteLength >= 12) {
    at = base + run.getInt32(8);
    field += 4;
  }
  if (flags & RUN_HAS_FIRST_FLAGS) field += 4;
  const sizeField = flags & SAMPLE_HAS_DURATION ? 4 : 0;
  const width =
    [SAMPLE_HAS_DURATION, SAMPLE_HAS_SIZE, SAMPLE_HAS_FLAGS, SAMPLE_HAS_OFFSET].filter((flag) => flags & flag).length *
    4;
  // Samples of uniform size take no bytes in the run, so limit their number explicitly.
  if (field + count * width > run.byteLength || (width === 0 && count > 100_000))
    throw createDamagedError('has an incomplete index');
  for (let n = 0; n < count; n++) {
    const bytes = flags & SAMPLE_HAS_SIZE ? run.getUint32(field + n * width + sizeField) : sampleBytes;
    samples.push({ position: at, bytes });
    at += bytes;
  }
  return at;
}
