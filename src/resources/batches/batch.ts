import type { BatchCounts, BatchOutcome, BatchProblem, BatchLineResult, BatchResultKind } from '../../core/batch.ts';
import type { Owner } from '../../core/context.ts';
import type { Metadata } from '../../core/item.ts';
import type { BatchListQuery, BatchRecord } from '../../store/batches.ts';

/** Metadata keys of the API that Parley interprets (docs/wire/openai-compatible.md#batches). */
export const BATCH_NAME_KEY = 'ds_name';
export const BATCH_DESCRIPTION_KEY = 'ds_description';
export const BATCH_CALLBACK_KEY = 'ds_batch_finish_callback';

export interface BatchDraft {
  readonly inputFileId: string;
  readonly endpoint: string;
  /** The text that the client sent, e.g. `24h`; `windowMs` is its value. */
  readonly completionWindow: string;
  readonly windowMs: number;
  readonly metadata: Metadata;
}

/** Batches of one workspace in one region; an id of another workspace or region is not found. */
export interface Batches {
  /**
   * Creates the batch and its job, and reserves storage for its result files: an accepted batch never fails for lack of
   * storage.
   * @throws ServiceError `invalid-request` for the input file, the endpoint's limits or the metadata; `count-quota`;
   *   `storage-quota`.
   */
  create(owner: Owner, draft: BatchDraft): Promise<BatchRecord>;
  /** @throws ServiceError `not-found`. */
  find(owner: Owner, id: string): Promise<BatchRecord>;
  /**
   * Lists batches of the last 30 days, newest first.
   * @throws ServiceError `invalid-request` if `after` is no batch id.
   */
  list(owner: Owner, query: BatchListQuery): Promise<readonly BatchRecord[]>;
  /**
   * Requests cancellation. The batch ends soon with the results that its lines have by then.
   * @throws ServiceError `not-found`; `conflict` if it has ended.
   */
  cancel(owner: Owner, id: string): Promise<BatchRecord>;
}

/** A result file that is completely written, under the blob name that `startFinalizing` assigned. */
export interface ResultFile {
  readonly blob: string;
  readonly sizeBytes: number;
  readonly md5: string;
}

/**
 * State transitions of a batch, for the job that processes it. Each method may be repeated at any time and by another
 * process; a transition that is out of date changes nothing.
 *
 *     validating -start-> in_progress -addResults…-> in_progress -startFinalizing-> finalizing -finish-> final state
 *     validating -fail-> failed
 *
 * `Batches.cancel` changes any of the first three states to `cancelling`, and `finish` then to `cancelled`.
 */
export interface BatchLifecycle {
  /** @returns undefined if the batch was removed, as do all methods that return a batch record. */
  find(id: string): Promise<BatchRecord | undefined>;
  /**
   * Records that all input lines were read: `total` lines that are not blank. Has no effect after `validating`.
   */
  start(id: string, info: { readonly model: string; readonly total: number }): Promise<BatchRecord | undefined>;
  /**
   * Stores results of lines, at most 1,000 per call, and updates the counts in the same transaction. A line that has a
   * result keeps it. Also allowed while the batch is validating.
   * @returns the new counts; undefined if the batch accepts no more results because it is being finalized or has ended.
   */
  addResults(id: string, results: readonly BatchLineResult[]): Promise<BatchCounts | undefined>;
  /** @returns the lines from `first` to `last`, both included, that have a result. */
  findCompletedLines(
    id: string,
    range: { readonly first: number; readonly last: number },
  ): Promise<ReadonlySet<number>>;
  /**
   * Stops accepting results, so that `readResults` stays stable, and assigns new blob names to the result files; files
   * written under earlier names are discarded. `endsAs` of the first call is the final state unless the batch is
   * canceled.
   */
  startFinalizing(id: string, endsAs: BatchOutcome): Promise<BatchRecord | undefined>;
  /** Yields the lines of a result file in input order, without line breaks, page by page. */
  readResults(id: string, kind: BatchResultKind): AsyncIterable<string>;
  /**
   * Ends the batch in one transaction: registers the written files for the batch's owner, releases unused reserved
   * storage, sets the final state and enqueues the callback job if the batch has a callback. Registers a file only if
   * the batch was started and its counts say that the file has lines.
   * @throws ServiceError `conflict` if another process has started to finalize the batch: leave it to that process.
   */
  finish(
    id: string,
    files: { readonly output?: ResultFile | undefined; readonly error?: ResultFile | undefined },
  ): Promise<BatchRecord | undefined>;
  /**
   * Ends the batch without files because none of its lines can run. At most 100 problems are stored. Has no effect on a
   * batch that has ended.
   */
  fail(id: string, problems: readonly BatchProblem[]): Promise<BatchRecord | undefined>;
}

export const RESERVATION_LASTS = 'the reservation of a result file lasts until its batch ends';
