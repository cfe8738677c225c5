/** Part of the data that `parley check` compares. */
export type CheckedArea = 'database' | 'files' | 'totals' | 'weights';

/** A difference that the check found. */
export interface CheckProblem {
  readonly area: CheckedArea;
  /** Path, ID or name of what is wrong. */
  readonly subject: string;
  readonly problem: string;
  /** Advice for the operator. */
  readonly action: string;
}

/** Collects what the parts of a check find. Notes say what needs no action. */
export interface CheckReport {
  readonly problems: CheckProblem[];
  readonly notes: CheckProblem[];
}

/** Receives the bytes of an area that were read since the last call. */
export type ReportCheckedBytes = (area: CheckedArea, bytes: number) => void;
