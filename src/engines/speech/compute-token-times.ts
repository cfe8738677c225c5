import { ENCODER_FRAMES } from './whisper-model.ts';
import { alignRows } from './align-rows.ts';

/** Length of the median filter over neighboring frames, which removes outliers (Whisper's reference implementation). */
const MEDIAN_FRAMES = 7;
const MEDIAN_RADIUS = (MEDIAN_FRAMES - 1) / 2;

/**
 * Computes the encoder frame in which each token starts, from the decoder's attention: the attention of each head is
 * standardized over the tokens and smoothed; the mean of the heads is aligned by dynamic time warping.
 * @param attention For each token, one row of `ENCODER_FRAMES` per head.
 * @param frames Number of frames that contain audio, at least 1.
 */
export function computeTokenTimes(attention: readonly Float32Array[], frames: number): readonly number[] {
  const rows = attention.length;
  const heads = (attention[0]?.length ?? 0) / ENCODER_FRAMES;
  const scores = new Float64Array(rows * frames);
  for (let head = 0; head < heads; head++) {
    const attentionScores = standardizeAttention(attention, { from: head * ENCODER_FRAMES, frames });
    for (let row = 0; row < rows; row++)
      for (let frame = 0; frame < frames; frame++) {
        const at = row * frames + frame;
        scores[at] =
          (scores[at] ?? 0) +
          computeMedianAround(attentionScores.subarray(row * frames, (row + 1) * frames), frame) / heads;
      }
  }
  return alignRows(scores, { rows, columns: frames });
}

/** Standardizes the attention per frame: difference to the mean over the tokens, in standard deviations. */
function standardizeAttention(
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

/** Returns the median of the values around an index. Values are mirrored at both ends. */
function computeMedianAround(values: Float64Array, at: number): number {
  const sorted: number[] = [];
  for (let i = at - MEDIAN_RADIUS; i <= at + MEDIAN_RADIUS; i++) {
    const mirrored = Math.abs(i) < values.length ? Math.abs(i) : Math.max(0, 2 * values.length - 2 - Math.abs(i));
    const value = values[mirrored] ?? 0;
    let place = sorted.length;
    while (place > 0 && (sorted[place - 1] ?? 0) > value) {
      sorted[place] = sorted[place - 1] ?? 0;
      place--;
    }
    sorted[place] = value;
  }
  return sorted[MEDIAN_RADIUS] ?? 0;
}
