import { damaged } from '../unreadable.ts';
import { boxAt, boxesIn } from './boxes.ts';
import type { SamplePlace } from './sample-table.ts';
import type { SoundTrack } from './sound-track.ts';

/** Flags of a fragment's head and of a run: ISO/IEC 14496-12, 8.8.7 and 8.8.8. */
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
 * Where the samples of a track stand that one fragment tells of.
 * @param fragment the body of a box `moof` that begins at `at`.
 * @throws Unreadable
 */
export function placesOfFragment(fragment: DataView, at: number, track: SoundTrack): readonly SamplePlace[] {
  const places: SamplePlace[] = [];
  for (const { name, body } of boxesIn(fragment)) {
    if (name !== 'traf') continue;
    const head = boxAt(body, 'tfhd');
    if (!head || head.byteLength < 8) throw damaged('has an index that is not whole');
    if (head.getUint32(4) !== track.id) continue;
    const { base, sampleBytes } = readHead(head, at, track);
    let next = base;
    for (const { name: inside, body: run } of boxesIn(body)) {
      if (inside === 'trun') next = readRun(run, { base, next, sampleBytes, places });
    }
  }
  return places;
}

function readHead(
  head: DataView,
  at: number,
  track: SoundTrack,
): { readonly base: number; readonly sampleBytes: number } {
  const flags = head.getUint32(0) & 0xff_ffff;
  let field = 8;
  const has = (flag: number, bytes: number): number | undefined => {
    if ((flags & flag) === 0) return undefined;
    const from = field;
    field += bytes;
    if (field > head.byteLength) throw damaged('has an index that is not whole');
    return from;
  };
  const base = has(HAS_BASE, 8);
  has(HAS_DESCRIPTION, 4);
  has(HAS_DURATION, 4);
  const size = has(HAS_SIZE, 4);
  return {
    base: base === undefined ? at : Number(head.getBigUint64(base)),
    sampleBytes: size === undefined ? track.fragmentSampleBytes : head.getUint32(size),
  };
}

interface RunFacts {
  readonly base: number;
  readonly next: number;
  readonly sampleBytes: number;
  readonly places: SamplePlace[];
}

/** @returns where the next run begins if it does not say. */
function readRun(run: DataView, { base, next, sampleBytes, places }: RunFacts): number {
  if (run.byteLength < 8) throw damaged('has an index that is not whole');
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
  // Samples that are all alike take no bytes here: their number is bounded by what a fragment can hold.
  if (field + count * width > run.byteLength || (width === 0 && count > 100_000))
    throw damaged('has an index that is not whole');
  for (let n = 0; n < count; n++) {
    const bytes = flags & SAMPLE_HAS_SIZE ? run.getUint32(field + n * width + sizeField) : sampleBytes;
    places.push({ at, bytes });
    at += bytes;
  }
  return at;
}
