import type { BlobStore } from '../../blobs/blob-store.ts';
import type { BatchProblem, BatchStatus } from '../../core/batch.ts';
import { ServiceError } from '../../core/error.ts';
import type { Ids } from '../../core/id.ts';
import { FILE_LEASE_MS } from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { BatchRecord } from '../../store/batches.ts';
import type { Store, Tables } from '../../store/store.ts';
import { RESULTS_PURPOSE } from '../files/file.ts';
import { finishDelete, withTotal } from '../files/remove.ts';
import { sortKeyOf } from '../files/rules.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import { newJob } from '../jobs/new-job.ts';
import { BATCH_CALLBACK, type BatchWork, type WrittenFile } from './batch.ts';
import { removeLines } from './sweep.ts';

interface EndingNeeds {
  readonly store: Store;
  readonly blobs: BlobStore;
  readonly clock: Clock;
  readonly log: Pick<Log, 'warn'>;
  readonly bell: Pick<JobBell, 'ring'>;
  readonly ids: Ids;
}

interface End {
  readonly status: BatchStatus;
  readonly written: Parameters<BatchWork['finish']>[1];
  readonly errors?: readonly BatchProblem[];
}

/** How often, and how far apart, whoever asked to be told is tried: about an hour in all. */
const CALLBACK_TRIES = 6;

/** The one step in which a batch ends, whatever it ends as: its files, its room, its status and who is told of it. */
export function createEnding({ store, blobs, clock, log, bell, ids }: EndingNeeds) {
  /** What was reserved becomes a file of the size it has, or is given back. @returns its id, or the blob that is to go. */
  const settle = async (
    { files, fileTotals }: Tables,
    batch: BatchRecord,
    { blob, kind, lines, written }: { blob: string; kind: 'output' | 'error'; lines: number; written?: WrittenFile },
  ): Promise<{ readonly id?: string; readonly unused?: string }> => {
    const at = clock.now();
    if (lines === 0) {
      const held = await files.giveUp(blob, { leaseUntil: at + FILE_LEASE_MS, at });
      // Whatever became of its room: a batch can always be ended.
      if (held) await fileTotals.add(batch, { files: -1, bytes: -held.bytes });
      return { unused: blob };
    }
    if (written?.blob !== blob) throw takenOver(batch.id);
    const id = ids.sortable(`file-batch_${kind}-`);
    const kept = await files.activate(blob, {
      id,
      sortKey: sortKeyOf(id) ?? id,
      number: await fileTotals.nextNumber(),
      name: `${batch.id}_${kind}.jsonl`,
      description: '',
      purpose: RESULTS_PURPOSE,
      sizeBytes: written.sizeBytes,
      md5: written.md5,
      createdAt: at,
    });
    assert(kept, 'room for results is there until their batch ends');
    // More than was reserved is counted and never refused: the work is done.
    await fileTotals.add(batch, { files: 0, bytes: written.sizeBytes - kept.heldBytes });
    await fileTotals.addToCount(batch, RESULTS_PURPOSE, 1);
    return { id };
  };

  const tidy = async (id: string, unused: readonly string[]): Promise<void> => {
    try {
      for (const blob of unused) await finishDelete({ store, blobs }, blob);
      await removeLines(store, id);
    } catch (error) {
      log.warn('what is left of a batch that has ended is swept later', { error: String(error) });
    }
  };

  return {
    /** Of no effect where it has ended. @throws ServiceError `conflict` where others write its files by now. */
    async end(id: string, decide: (batch: BatchRecord) => End): Promise<BatchRecord | undefined> {
      const found = await store.batches.findAnywhere(id);
      if (!found || found.endedAt !== undefined) return found;
      const ended = await withTotal(store, found, async (tables) => {
        const { batches, jobs } = tables;
        const batch = await batches.lock(id);
        if (!batch || batch.endedAt !== undefined) return { batch, unused: [], isAwaited: false };
        const { status, written, errors } = decide(batch);
        // What was never started, or failed as a whole, has no results to show.
        const hasResults = batch.inProgressAt !== undefined && status !== 'failed';
        const counts = hasResults ? batch.counts : { total: 0, completed: 0, failed: 0 };
        const { outputBlob, errorBlob } = batch;
        const output = { blob: outputBlob, kind: 'output', lines: counts.completed, ...given(written.output) } as const;
        const error = { blob: errorBlob, kind: 'error', lines: counts.failed, ...given(written.error) } as const;
        const outputFile = await settle(tables, batch, output);
        const errorFile = await settle(tables, batch, error);
        const at = clock.now();
        const outputFileId = outputFile.id;
        const changes = {
          status,
          errors,
          counts,
          outputFileId,
          errorFileId: errorFile.id,
          endedAt: at,
          linesUntil: at,
        };
        const isAwaited = batch.metadata.has(BATCH_CALLBACK);
        if (isAwaited) {
          const wish = {
            kind: 'batch-callback',
            subject: id,
            owner: batch,
            payload: {},
            tries: CALLBACK_TRIES,
          } as const;
          await jobs.insert(newJob(wish, { ids, clock }));
        }
        const unused = [outputFile.unused, errorFile.unused].filter((blob) => blob !== undefined);
        return { batch: await batches.change(id, changes), unused, isAwaited };
      });
      if (ended.isAwaited) bell.ring('due');
      await tidy(id, ended.unused);
      return ended.batch;
    },
  };
}

const given = (written: WrittenFile | undefined) => (written ? { written } : {});

const takenOver = (id: string): ServiceError =>
  new ServiceError('conflict', `The results of batch '${id}' are written by somebody else.`);
