import type { Stretch } from './voice-stretches.ts';

export interface PackRules {
  /** Samples that one call of the engine takes. */
  readonly longest: number;
  /** Samples of silence that are left between two stretches of one call. Beyond: it is two calls. */
  readonly gap: number;
}

export interface StretchPacking {
  /** @returns A window that ends before this stretch, if one does. */
  push(stretch: Stretch): readonly Stretch[];
  /** Where the window that is still open begins. */
  readonly openBegin: number | undefined;
  finish(): readonly Stretch[];
}

/** Puts stretches together: a call costs the engine the same, however little is said in it. */
export function createStretchPacking({ longest, gap }: PackRules): StretchPacking {
  let open: Stretch | undefined;
  return {
    push(stretch) {
      if (open && stretch.end - open.begin <= longest && stretch.begin - open.end <= gap) {
        open = { begin: open.begin, end: stretch.end };
        return [];
      }
      const closed = open;
      open = stretch;
      return closed ? [closed] : [];
    },
    get openBegin() {
      return open?.begin;
    },
    finish() {
      const closed = open;
      open = undefined;
      return closed ? [closed] : [];
    },
  };
}
