import type { Owner } from '../../core/context.ts';
import type { IdGenerator } from '../../core/id.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { Clock } from '../../lib/clock.ts';
import type { FileRecord } from '../../store/files.ts';
import type { Tables } from '../../store/store.ts';
import { createJob } from '../jobs/create-job.ts';
import { EXTRACT_PURPOSE, type FileDraft, type ReceivedFile } from './file.ts';
import { EXTRACT_ATTEMPTS_MAX } from './limits.ts';
import { createReservationLostError } from './reserve-bytes.ts';
import { parseSortKey } from './rules.ts';

interface NewFile {
  readonly id: string;
  readonly received: ReceivedFile;
  /** Cleaned by `rules.ts`. */
  readonly metadata: FileDraft;
}

/**
 * Makes a received file visible, in a transaction that holds the lock of the workspace's total, and adds the job that
 * extracts its text.
 * @throws ServiceError `overloaded` if its reservation was lost.
 */
export async function activateFile(
  { files, fileTotals, jobs, texts }: Tables,
  owner: Owner,
  { id, received: { blob, sizeBytes, md5 }, metadata }: NewFile,
  { clock, ids = systemIdGenerator }: { readonly clock: Clock; readonly ids?: IdGenerator },
): Promise<FileRecord> {
  const sortKey = getSortKey(id);
  const number = await fileTotals.nextNumber();
  const newFile = { ...metadata, id, sortKey, number, sizeBytes, md5, createdAt: clock.now() };
  const activated = await files.activate(blob, newFile);
  if (!activated) throw createReservationLostError();
  const { record, reservedBytes } = activated;
  await fileTotals.addUsage(owner, { files: 0, bytes: sizeBytes - reservedBytes });
  await fileTotals.addToActiveCount(owner, metadata.purpose, 1);
  if (metadata.purpose === EXTRACT_PURPOSE) {
    await texts.insert(blob, record.createdAt);
    const request = { kind: 'extract', subject: id, owner, payload: {}, attemptsMax: EXTRACT_ATTEMPTS_MAX } as const;
    await jobs.insert(createJob(request, { ids, clock }));
  }
  return record;
}

export const getSortKey = (id: string): string => parseSortKey(id) ?? id;
