/** Migration 0003. Numbers that are given out once each, in the order in which transactions end. */
export interface SequencesTable {
  name: string;
  last: number;
}
