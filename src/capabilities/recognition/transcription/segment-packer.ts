import type { SpeechSegment } from './segment-detector.ts';

export interface SegmentPackerOptions {
  /** Maximum number of samples of one engine call. */
  readonly samplesMax: number;
  /** Maximum silence between two segments of one call, in samples. */
  readonly gapSamplesMax: number;
}

export interface SegmentPacker {
  /** Adds a segment. Returns the window before it, if that is complete. */
  push(stretch: SpeechSegment): readonly SpeechSegment[];
  /** Start of the incomplete window. */
  readonly openStart: number | undefined;
  finish(): readonly SpeechSegment[];
}

/** Combines segments into windows, because an engine call costs the same for any length of audio. */
export function createSegmentPacker({ samplesMax, gapSamplesMax }: SegmentPackerOptions): SegmentPacker {
  let open: SpeechSegment | undefined;
  return {
    push(stretch) {
      if (open && stretch.end - open.start <= samplesMax && stretch.start - open.end <= gapSamplesMax) {
        open = { start: open.start, end: stretch.end };
        return [];
      }
      const closed = open;
      open = stretch;
      return closed ? [closed] : [];
    },
    get openStart() {
      return open?.start;
    },
    finish() {
      const closed = open;
      open = undefined;
      return closed ? [closed] : [];
    },
  };
}
