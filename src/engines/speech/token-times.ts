import { FRAMES } from './whisper-model.ts';
import { warpTimes } from './time-warp.ts';

/** From whisper's reference: neighbouring frames of which the middle value counts, to drop what flickers. */
const MEDIAN_FRAMES = 7;
const AROUND = (MEDIAN_FRAMES - 1) / 2;

/**
 * The frame in which each token begins, by where the decoder looked when it found it: what each head saw is compared over
 * the tokens, smoothed, put together, and the way through it is the reading's way through the speech.
 * @param attention For each token, rows of `FRAMES`, one a head. @param frames Those that hold speech, at least 1.
 */
export function tokenTimes(attention: readonly Float32Array[], frames: number): readonly number[] {
  const rows = attention.length;
  const heads = (attention[0]?.length ?? 0) / FRAMES;
  const seen = new Float64Array(rows * frames);
  for (let head = 0; head < heads; head++) {
    const share = standardized(attention, { from: head * FRAMES, frames });
    for (let row = 0; row < rows; row++)
      for (let frame = 0; frame < frames; frame++) {
        const at = row * frames + frame;
        seen[at] = (seen[at] ?? 0) + medianAround(share.subarray(row * frames, (row + 1) * frames), frame) / heads;
      }
  }
  return warpTimes(seen, { rows, columns: frames });
}

/** How much more than at other tokens a frame was looked at, in standard deviations. */
function standardized(
  attention: readonly Float32Array[],
  { from, frames }: { readonly from: number; readonly frames: number },
): Float64Array {
  const out = new Float64Array(attention.length * frames);
  for (let frame = 0; frame < frames; frame++) {
    let sum = 0;
    let squares = 0;
    for (const row of attention) {
      const value = row[from + frame] ?? 0;
      sum += value;
      squares += value * value;
    }
    const mean = sum / attention.length;
    const deviation = Math.sqrt(Math.max(squares / attention.length - mean * mean, 1e-20));
    for (const [at, row] of attention.entries())
      out[at * frames + frame] = ((row[from + frame] ?? 0) - mean) / deviation;
  }
  return out;
}

/** The middle one of the values around a place; beyond the ends they are mirrored. */
function medianAround(values: Float64Array, at: number): number {
  const sorted: number[] = [];
  for (let i = at - AROUND; i <= at + AROUND; i++) {
    const mirrored = Math.abs(i) < values.length ? Math.abs(i) : Math.max(0, 2 * values.length - 2 - Math.abs(i));
    const value = values[mirrored] ?? 0;
    let place = sorted.length;
    while (place > 0 && (sorted[place - 1] ?? 0) > value) {
      sorted[place] = sorted[place - 1] ?? 0;
      place--;
    }
    sorted[place] = value;
  }
  return sorted[AROUND] ?? 0;
}
