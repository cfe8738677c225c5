/**
 * Statuses of a batch in the order of the API. `completed`, `failed`, `expired` and `cancelled` are final
 * (docs/wire/openai-compatible.md#batches).
 */
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

/** Final status of a batch that started. `finalizing` and `cancelling` lead to it, also after a crash. */
export type BatchOutcome = Extract<BatchStatus, 'completed' | 'expired' | 'cancelled'>;

/**
 * Endpoints that the lines of a batch may call (docs/wire/openai-compatible.md#batches). The cloud API does not have
 * `/v1/responses` here; Parley adds it.
 */
export const BATCH_ENDPOINTS = [
  '/v1/chat/completions',
  '/v1/completions',
  '/v1/responses',
  '/v1/embeddings',
  '/v1/chat/ds-test',
] as const;

export type BatchEndpoint = (typeof BATCH_ENDPOINTS)[number];

/** Endpoint of a dry run: every line gets the same test result, and no model runs. */
export const BATCH_TEST_ENDPOINT: BatchEndpoint = '/v1/chat/ds-test';

/** `output`: the line completed and goes to the output file. `error`: it failed and goes to the error file. */
export type BatchResultKind = 'output' | 'error';

/** Result of one line of a batch's input file. */
export interface BatchLineResult {
  /** Line number in the input file, from 1. Blank lines count. */
  readonly line: number;
  readonly kind: BatchResultKind;
  /** The whole line for the result file, without its line break. */
  readonly json: string;
}

/** Numbers of lines. `total` is 0 until validation has read the whole input. */
export interface BatchCounts {
  readonly total: number;
  readonly completed: number;
  readonly failed: number;
}

/** A reason why a batch failed as a whole. */
export interface BatchProblem {
  readonly code: string;
  readonly message: string;
  /** Name of the invalid field. */
  readonly param?: string | undefined;
  readonly line?: number | undefined;
}
