/** The part of an audio that somebody still needs. Places are samples, counted from the beginning of the audio. */
export interface SampleWindow {
  append(block: Float32Array): void;
  /** A copy of what is there from `begin` up to `end`. */
  slice(begin: number, end: number): Float32Array;
  /** Lets go of what comes before. */
  forget(before: number): void;
  /** How far the audio has come. */
  readonly end: number;
}

interface Placed {
  readonly begin: number;
  readonly samples: Float32Array;
}

/** @param begin Where the first block stands. */
export function createSampleWindow(begin = 0): SampleWindow {
  let blocks: Placed[] = [];
  let end = begin;
  return {
    append(samples) {
      if (samples.length === 0) return;
      blocks.push({ begin: end, samples });
      end += samples.length;
    },
    slice(from, to) {
      const first = Math.max(from, blocks[0]?.begin ?? end);
      const out = new Float32Array(Math.max(0, Math.min(to, end) - first));
      for (const block of blocks) {
        const part = block.samples.subarray(Math.max(0, first - block.begin), Math.max(0, to - block.begin));
        if (part.length > 0) out.set(part, Math.max(block.begin, first) - first);
      }
      return out;
    },
    forget(before) {
      blocks = blocks.filter((block) => block.begin + block.samples.length > before);
    },
    get end() {
      return end;
    },
  };
}
