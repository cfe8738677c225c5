import type { BatchCounts, BatchEnd, BatchProblem, LineResult, ResultKind } from '../../core/batch.ts';
import type { Owner } from '../../core/context.ts';
import type { Metadata } from '../../core/item.ts';
import type { BatchList, BatchRecord } from '../../store/batches.ts';

/** Pairs of a batch's metadata that say something to us. wire.md E9.3. */
export const BATCH_NAME = 'ds_name';
export const BATCH_DESCRIPTION = 'ds_description';
export const BATCH_CALLBACK = 'ds_batch_finish_callback';

export interface BatchWish {
  readonly inputFileId: string;
  readonly endpoint: string;
  /** As it was sent, and what it comes to. */
  readonly completionWindow: string;
  readonly windowMs: number;
  readonly metadata: Metadata;
}

/** Batches of one workspace in one region, for their owners; anybody else's are not there. */
export interface Batches {
  /**
   * With its job, and with room for its results: a batch that is taken in never fails for want of room.
   * @throws ServiceError `invalid-request` for what it is to read, its window or its metadata; `count-quota`; `storage-quota`.
   */
  create(owner: Owner, wish: BatchWish): Promise<BatchRecord>;
  /** @throws ServiceError `not-found`. */
  find(owner: Owner, id: string): Promise<BatchRecord>;
  /** The newest first; of the last 30 days. @throws ServiceError `invalid-request` where `after` is no id. */
  list(owner: Owner, wish: BatchList): Promise<readonly BatchRecord[]>;
  /** It ends soon, with what came of its lines until then. @throws ServiceError `not-found`; `conflict` where it has ended. */
  cancel(owner: Owner, id: string): Promise<BatchRecord>;
}

/** A file that was written: under the name that `beginFinalizing` gave, and on the disk. */
export interface WrittenFile {
  readonly blob: string;
  readonly sizeBytes: number;
  readonly md5: string;
}

/**
 * The steps of a batch, for whoever does its work. Each may be done again, at any moment and by another process; a step
 * that is behind changes nothing.
 *
 *     validating -start-> in_progress -addResults…-> -beginFinalizing-> finalizing | cancelling -finish-> an end
 *     validating -fail-> failed
 */
export interface BatchWork {
  /** Undefined where it is gone; so too wherever a step answers with a batch. */
  find(id: string): Promise<BatchRecord | undefined>;
  /** All lines were looked at: `total` of them, all that are not blank. As it is where it is further already. */
  start(id: string, facts: { readonly model: string; readonly total: number }): Promise<BatchRecord | undefined>;
  /**
   * Keeps what came of lines, at most 1,000 at once, and counts it, both or neither. A line that has a result keeps that.
   * May be said while it validates, too.
   * @returns the counts with these; undefined where it takes no more results: others write its files by now, or it has ended.
   */
  addResults(id: string, results: readonly LineResult[]): Promise<BatchCounts | undefined>;
  /** Those of the lines from `first` to `last`, both included, that have a result. */
  doneLines(id: string, range: { readonly first: number; readonly last: number }): Promise<ReadonlySet<number>>;
  /**
   * From here on no results are taken in: what `readResults` reads stays as it is. Gives the files to be written names that
   * nobody has written under; those that it gave before are of no use any more. `completed` and `expired` say how it ends
   * where nobody cancels it; once said, that stays.
   */
  beginFinalizing(id: string, endsAs: BatchEnd): Promise<BatchRecord | undefined>;
  /** Lines of the file, in the order of the input and without their ends. Nothing of it is held in memory. */
  readResults(id: string, kind: ResultKind): AsyncIterable<string>;
  /**
   * In one transaction: what was written becomes files of the batch's owner, of the size that they have; room that was
   * not needed is given back; the batch ends; whoever is to be told of it gets a job. Without a file where nothing is to
   * stand in it (`counts`), or where the batch was never started.
   * @throws ServiceError `conflict` where another process has begun to finalize it meanwhile: leave it to that one.
   */
  finish(
    id: string,
    written: { readonly output?: WrittenFile | undefined; readonly error?: WrittenFile | undefined },
  ): Promise<BatchRecord | undefined>;
  /** Ends it without files: no line of it can be run. At most 100 of the problems are kept. As it is where it has ended. */
  fail(id: string, problems: readonly BatchProblem[]): Promise<BatchRecord | undefined>;
}
