/** What a reader is told of a report that a budget ended. */
export const CUT_SHORT =
  'A limit of searches, pages, tokens or time ended the work: the report is shorter than it was to be.';
