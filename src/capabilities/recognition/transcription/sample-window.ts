/** The part of an audio that is still needed. Positions are samples from the start of the audio. */
export interface SampleWindow {
  append(block: Float32Array): void;
  /** Returns a copy of the available samples from `start` to before `end`. */
  slice(start: number, end: number): Float32Array;
  /** Discards blocks that end before this position. */
  discardBefore(before: number): void;
  /** Position after the last sample. */
  readonly end: number;
}

interface StoredBlock {
  readonly start: number;
  readonly samples: Float32Array;
}

/** @param start Position of the first block. */
export function createSampleWindow(start = 0): SampleWindow {
  let blocks: StoredBlock[] = [];
  let end = start;
  return {
    append(samples) {
      if (samples.length === 0) return;
      blocks.push({ start: end, samples });
      end += samples.length;
    },
    slice(from, to) {
      const first = Math.max(from, blocks[0]?.start ?? end);
      const out = new Float32Array(Math.max(0, Math.min(to, end) - first));
      for (const block of blocks) {
        const part = block.samples.subarray(Math.max(0, first - block.start), Math.max(0, to - block.start));
        if (part.length > 0) out.set(part, Math.max(block.start, first) - first);
      }
      return out;
    },
    discardBefore(before) {
      const kept = blocks.findIndex((block) => block.start + block.samples.length > before);
      if (kept !== 0) blocks = kept < 0 ? [] : blocks.slice(kept);
    },
    get end() {
      return end;
    },
  };
}
