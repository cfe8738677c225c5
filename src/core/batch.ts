/** wire.md E9.3. The first three, and `cancelling`, have an end before them; the others are ends. */
export const BATCH_STATUSES = [
  'validating',
  'in_progress',
  'finalizing',
  'completed',
  'failed',
  'expired',
  'cancelling',
  'cancelled',
] as const;

export type BatchStatus = (typeof BATCH_STATUSES)[number];

/** In what a batch ends that was begun: `finalizing` and `cancelling` lead there, also after a crash. */
export type BatchEnd = Extract<BatchStatus, 'completed' | 'expired' | 'cancelled'>;

/** Where the requests of its lines go. wire.md E9.3, and `/v1/responses` as other services have it. */
export const BATCH_ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/chat/ds-test',
] as const;

export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** Where no model runs: a rehearsal. */
export const BATCH_TEST_ENDPOINT: BatchEndpoint = '/v1/chat/ds-test';

/** Whether a line's result goes to the output file and counts as completed, or to the error file and counts as failed. */
export type ResultKind = 'output' | 'error';

/** What came of one line of the input. */
export interface LineResult {
  /** From 1, as it stands in the input file: lines without text count. */
  readonly line: number;
  readonly kind: ResultKind;
  /** The whole line of the file, without its end. */
  readonly json: string;
}

/** How many lines; `total` is 0 until all have been looked at. */
export interface BatchCounts {
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
}

/** Why a batch failed as a whole. */
export interface BatchProblem {
  readonly code: string;
  readonly message: string;
  /** The field at fault. */
  readonly param?: string | undefined;
  readonly line?: number | undefined;
}
