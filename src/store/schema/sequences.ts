/** Created by migration 0003: counters whose numbers are assigned once, in commit order. */
export interface SequencesTable {
  name: string;
  last: number;
}
