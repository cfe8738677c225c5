import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { assert } from '../../lib/assert.ts';
import type { FileRecord } from '../../store/files.ts';
import { FILE_LEASE_MS } from '../limits.ts';
import { EXTRACT_PURPOSE, type Files } from './file.ts';
import { deleteBlobAndRows, withFileTotalLock } from './remove.ts';
import type { JobNotifier } from '../jobs/job-notifier.ts';
import { activateFile, getSortKey } from './activate-file.ts';
import { createChunkedUploads } from './chunked-uploads.ts';
import { cleanDescription, cleanName, getIdPrefix, parseSortKey } from './rules.ts';
import { createUploads } from './uploads.ts';
import type { UploadsDeps } from './uploads.ts';

export interface FilesDeps extends UploadsDeps {
  /** Notified of each file whose text must be extracted. */
  readonly notifier?: Pick<JobNotifier, 'notify'>;
  /** Waits a short time for the text of small files, so that it is often available when the upload returns. */
  readonly waitForTexts?: (files: readonly Pick<FileRecord, 'id' | 'sizeBytes'>[]) => Promise<void>;
}

export function createFiles(deps: FilesDeps): Files {
  const { store, blobs } = deps;
  const uploads = createUploads(deps);

  // Work that needs the store until it completes; `close` waits for it.
  const pendingWork = new Set<Promise<unknown>>();
  const track = <T>(work: Promise<T>): Promise<T> => {
    pendingWork.add(work);
    const forget = (): void => void pendingWork.delete(work);
    work.then(forget, forget);
    return work;
  };

  const startExtraction = async (records: readonly FileRecord[]): Promise<void> => {
    const withText = records.filter(({ purpose }) => purpose === EXTRACT_PURPOSE);
    if (withText.length === 0) return;
    const extracted = deps.waitForTexts?.(withText);
    deps.notifier?.notify('due');
    await extracted;
  };

  return {
    chunked: createChunkedUploads({ ...deps, uploads, track, startExtraction }),
    findAnywhere: async (id) => (await store.files.findInAnyTenant(id)) ?? throwFileNotFound(),
    receive: (owner, source, { signal } = {}) => track(uploads.receive(owner, source, signal)),
    async commit(owner, files) {
      if (files.length === 0) return [];
      const records = await commitFiles(deps, owner, files);
      for (const { received } of files) uploads.keep(received.blob);
      await startExtraction(records);
      return records;
    },
    async discard(owner, files) {
      for (const { blob } of files) await track(uploads.release(owner, blob));
    },
    find: async (owner, id) => (await store.files.find(owner, id)) ?? throwFileNotFound(),
    async list(owner, { after, ...query }) {
      const key = after === undefined ? undefined : (parseSortKey(after) ?? throwInvalidCursor(after));
      return await store.files.list(owner, { ...query, after: key });
    },
    count: (owner, purpose) => store.fileTotals.countActive(owner, purpose),
    delete: (owner, id) => deleteFile(deps, owner, id),
    read: ({ blob }, range) => blobs.read(blob, range),
    async close() {
      uploads.stop();
      do {
        await Promise.allSettled(pendingWork);
        // Lets a caller whose upload failed start to discard the files that it received before.
        await yieldToEventLoop();
      } while (pendingWork.size > 0);
    },
  };
}

/** Makes received files visible in one transaction, and adds the jobs that extract their text. */
function commitFiles(
  deps: FilesDeps,
  owner: Owner,
  uploaded: Parameters<Files['commit']>[1],
): ReturnType<Files['commit']> {
  const { store, ids = systemIdGenerator } = deps;
  const drafts = uploaded.map(({ received, draft: { name, description, purpose } }) => ({
    received,
    metadata: { name: cleanName(name), description: cleanDescription(description), purpose },
  }));
  return withFileTotalLock(store, owner, async (tables) => {
    const committed = [];
    const newIds = drafts.map(({ metadata }) => ids.createSortableId(getIdPrefix(metadata.purpose)));
    // Lists show the newest first, so the first file of an upload gets the last key.
    const sortedIds = newIds.toSorted((one, other) => (getSortKey(one) < getSortKey(other) ? 1 : -1));
    for (const [index, draft] of drafts.entries()) {
      const id = sortedIds[index];
      assert(id !== undefined, 'each file of an upload has an id');
      committed.push(await activateFile(tables, owner, { ...draft, id }, deps));
    }
    return committed;
  });
}

async function deleteFile({ store, blobs, clock, log }: FilesDeps, owner: Owner, id: string): Promise<void> {
  const lease = { leaseUntil: clock.now() + FILE_LEASE_MS, at: clock.now() };
  const { blob } = await withFileTotalLock(
    store,
    owner,
    async ({ batches, files, fileTotals, jobs }) => {
      const retired = (await files.retire(owner, id, lease)) ?? throwFileNotFound();
      // Batches are created under the same lock, so that none can start to read the file meanwhile.
      if (await batches.isInputInUse(id)) throw fileInUseError();
      await fileTotals.addUsage(owner, { files: -1, bytes: -retired.bytes });
      if (retired.purpose !== undefined) await fileTotals.addToActiveCount(owner, retired.purpose, -1);
      if (retired.purpose === EXTRACT_PURPOSE) await jobs.remove('extract', id);
      return retired;
    },
    { usesReserve: true },
  );
  await deleteBlobAndRows({ store, blobs }, blob).catch((error: unknown) => {
    log.warn('file deletion is incomplete; garbage collection repeats it', { error: String(error) });
  });
}

function throwFileNotFound(): never {
  throw new ServiceError('file-not-found', 'File not found.');
}

function throwInvalidCursor(after: string): never {
  const shown = after.slice(0, 80).toWellFormed();
  throw new ServiceError('invalid-request', `after must be the id of a file, got '${shown}'.`, { param: 'after' });
}

const fileInUseError = (): ServiceError =>
  new ServiceError(
    'conflict',
    'The file is the input of a batch that has not ended. Cancel the batch or wait until it ends.',
  );
