import type { Owner } from '../../../core/context.ts';

/** One line of a batch, to be run like a request. */
export interface LineRequest {
  readonly batchId: string;
  /** Endpoint as batches name it, e.g. `/v1/chat/completions`. */
  readonly url: string;
  readonly body: Readonly<Record<string, unknown>>;
  readonly sizeBytes: number;
  /** Owner of the batch; the API key is checked for each line. */
  readonly owner: Owner;
  /** Aborts the call; its reason is thrown. */
  readonly signal: AbortSignal;
}

/** Response of the endpoint to a line. */
export interface LineResponse {
  readonly status: number;
  readonly requestId: string;
  /** JSON body as the endpoint returns it. */
  readonly body: unknown;
  /** Parley's response headers, such as `x-parley-ignored`; undefined without any. */
  readonly headers: Readonly<Record<string, string>> | undefined;
  /** Error in the body; undefined for a success. */
  readonly error: { readonly code: string; readonly message: string } | undefined;
  /** Retry delay of a rejection. */
  readonly retryAfterSeconds: number | undefined;
}

/** Calls the endpoint and returns its response, also for errors. Rejects only with the signal's reason. */
export type ExecuteLine = (request: LineRequest) => Promise<LineResponse>;
