import type { Owner } from '../../core/context.ts';
import { ServiceError } from '../../core/error.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { FileRecord } from '../../store/files.ts';
import type { Tables } from '../../store/store.ts';
import type { UploadPartRecord, UploadRecord } from '../../store/uploads.ts';
import { FILE_LEASE_MS } from '../limits.ts';
import { activateFile } from './activate-file.ts';
import type { ChunkedUploads, UploadCompletion } from './chunked-upload.ts';
import { UPLOAD_LIFETIME_MS, UPLOAD_PARTS_MAX, UPLOADS_PENDING_MAX } from './limits.ts';
import { deleteBlobAndRows, withFileTotalLock } from './remove.ts';
import { createReservationLostError } from './reserve-bytes.ts';
import { checkCount, cleanName, createStorageQuotaError, getIdPrefix } from './rules.ts';
import type { Uploads, UploadsDeps } from './uploads.ts';

interface ChunkedUploadsDeps extends UploadsDeps {
  readonly uploads: Uploads;
  /** Registers work that needs the store until it ends. */
  readonly track: <T>(work: Promise<T>) => Promise<T>;
  /** Starts the extraction of the texts of new files. */
  readonly startExtraction: (files: readonly FileRecord[]) => Promise<void>;
}

export function createChunkedUploads(deps: ChunkedUploadsDeps): ChunkedUploads {
  const { store, blobs, clock, log, getLimits, ids = systemIdGenerator, uploads, track, startExtraction } = deps;

  const find = async ({ uploads: table }: Pick<Tables, 'uploads'>, owner: Owner, id: string): Promise<UploadRecord> =>
    (await table.find(owner, id)) ?? throwUploadNotFound(id);
  const findPending = async (tables: Pick<Tables, 'uploads'>, owner: Owner, id: string): Promise<UploadRecord> => {
    const upload = await find(tables, owner, id);
    if (upload.status !== 'pending') throw createEndedError(id, upload.status);
    if (upload.expiresAt <= clock.now()) throw createEndedError(id, 'expired');
    return upload;
  };

  /** Ends the reservations of all parts, in the transaction that ends their upload. */
  const retireParts = async (
    { files, fileTotals, uploads: table }: Tables,
    owner: Owner,
    id: string,
  ): Promise<ReadonlySet<string>> => {
    const at = clock.now();
    const retired = new Set<string>();
    for (const { blob } of await table.listParts(id)) {
      const reservation = await files.retireReservation(blob, { leaseUntil: at + FILE_LEASE_MS, at });
      if (!reservation) continue;
      retired.add(blob);
      await fileTotals.addUsage(owner, { files: -1, bytes: -reservation.bytes });
    }
    await table.removeParts(id);
    return retired;
  };

  const deleteParts = async (retired: ReadonlySet<string>): Promise<void> => {
    try {
      for (const blob of retired) await deleteBlobAndRows({ store, blobs }, blob);
    } catch (error) {
      log.warn('removal of upload parts is incomplete; garbage collection repeats it', { error: String(error) });
    }
  };

  const complete = async (
    owner: Owner,
    id: string,
    { partIds, md5 }: UploadCompletion,
    signal: AbortSignal | undefined,
  ): ReturnType<ChunkedUploads['complete']> => {
    const before = await find(store, owner, id);
    const completed = await findCompleted(before, owner);
    if (completed) return completed;
    const upload = await findPending(store, owner, id);
    const parts = selectParts(await store.uploads.listParts(id), partIds, upload);
    const blobNames = parts.map(({ blob }) => blob);
    const joined = await uploads.join(owner, blobNames, signal).catch((error: unknown) => ({ error }));
    if ('error' in joined) {
      // Another request may have completed the upload meanwhile, and removed its parts.
      const ended = await findCompleted(await find(store, owner, id), owner);
      if (ended) return ended;
      throw joined.error;
    }
    const received = joined;
    try {
      if (md5 !== undefined && md5.toLowerCase() !== received.md5)
        throw createFieldError('md5', `md5 is '${shorten(md5)}', but the parts have '${received.md5}'`);
      const { file, retired } = await withFileTotalLock(store, owner, async (tables) => {
        const current = await find(tables, owner, id);
        // Another request has completed the upload meanwhile.
        if (current.status === 'completed') return { file: undefined, retired: new Set<string>() };
        if (current.status !== 'pending') throw createEndedError(id, current.status);
        const ended = await retireParts(tables, owner, id);
        if (parts.some(({ blob }) => !ended.has(blob))) throw createReservationLostError();
        const { name, purpose } = upload;
        const fileId = ids.createSortableId(getIdPrefix(purpose));
        const metadata = { name, description: '', purpose };
        const activated = await activateFile(tables, owner, { id: fileId, received, metadata }, deps);
        await tables.uploads.end(id, { status: 'completed', fileId });
        return { file: activated, retired: ended };
      });
      if (file) {
        uploads.keep(received.blob);
        await deleteParts(retired);
        await startExtraction([file]);
        return { upload: await find(store, owner, id), file };
      }
    } finally {
      // Has no effect on a blob that was kept.
      await uploads.release(owner, received.blob);
    }
    return (await findCompleted(await find(store, owner, id), owner)) ?? throwUploadNotFound(id);
  };

  /** Returns the file of a completed upload, for a client that repeats the completion. */
  const findCompleted = async (upload: UploadRecord, owner: Owner) => {
    if (upload.status !== 'completed' || upload.fileId === undefined) return undefined;
    const file = await store.files.find(owner, upload.fileId);
    if (!file) throw createEndedError(upload.id, 'completed');
    return { upload, file };
  };

  return {
    async create(owner, { name, purpose, sizeBytes }) {
      const limits = getLimits(owner.workspace);
      if (sizeBytes > limits.fileBytesMax)
        throw createFieldError('bytes', `A file may have at most ${limits.fileBytesMax} bytes, got ${sizeBytes}`);
      const { region, workspace, keyId } = owner;
      const createdAt = clock.now();
      const record: UploadRecord = {
        id: ids.createSortableId('upload_'),
        region,
        workspace,
        keyId,
        name: cleanName(name),
        purpose,
        sizeBytes,
        status: 'pending',
        createdAt,
        expiresAt: createdAt + UPLOAD_LIFETIME_MS,
        fileId: undefined,
      };
      await withFileTotalLock(store, owner, async (tables, total) => {
        checkCount(total, limits);
        if (total.bytes + sizeBytes > limits.totalBytesMax) throw createStorageQuotaError(total, limits);
        if ((await tables.uploads.countPending(owner, createdAt)) >= UPLOADS_PENDING_MAX)
          throw new ServiceError(
            'count-quota',
            `Out of number, ${UPLOADS_PENDING_MAX} uploads are pending. Complete or cancel uploads to create more.`,
          );
        await tables.uploads.insert(record);
      });
      return record;
    },
    async checkPending(owner, id) {
      await findPending(store, owner, id);
    },
    async addPart(owner, id, { blob, sizeBytes }) {
      const part = await withFileTotalLock(store, owner, async (tables) => {
        const { expiresAt } = await findPending(tables, owner, id);
        const createdAt = clock.now();
        const added = { id: ids.createSortableId('part_'), uploadId: id, blob, sizeBytes, createdAt };
        if (!(await tables.files.holdReservation(blob, { heldFor: id, until: expiresAt })))
          throw createReservationLostError();
        await tables.uploads.insertPart(added);
        return added;
      });
      uploads.keep(blob);
      return part;
    },
    complete: (owner, id, completion, signal) => track(complete(owner, id, completion, signal)),
    async cancel(owner, id) {
      const retired = await withFileTotalLock(
        store,
        owner,
        async (tables) => {
          const { status } = await find(tables, owner, id);
          if (status === 'cancelled') return new Set<string>();
          await findPending(tables, owner, id);
          await tables.uploads.end(id, { status: 'cancelled' });
          return await retireParts(tables, owner, id);
        },
        { usesReserve: true },
      );
      await track(deleteParts(retired));
      return await find(store, owner, id);
    },
  };
}

/** Returns the parts in the order of the file. @throws ServiceError `invalid-request` naming `part_ids`. */
function selectParts(
  parts: readonly UploadPartRecord[],
  partIds: readonly string[],
  { sizeBytes }: UploadRecord,
): readonly UploadPartRecord[] {
  if (partIds.length > UPLOAD_PARTS_MAX)
    throw createFieldError('part_ids', `part_ids must have at most ${UPLOAD_PARTS_MAX} ids, got ${partIds.length}`);
  const byId = new Map(parts.map((part) => [part.id, part]));
  const selected = partIds.map((partId, index) => {
    const part = byId.get(partId);
    if (!part) throw createFieldError(`part_ids[${index}]`, `Part '${shorten(partId)}' is not a part of this upload`);
    return part;
  });
  if (new Set(partIds).size < partIds.length) throw createFieldError('part_ids', 'part_ids must not repeat a part');
  const total = selected.reduce((sum, part) => sum + part.sizeBytes, 0);
  if (total === sizeBytes) return selected;
  throw createFieldError('part_ids', `The parts have ${total} bytes together, but bytes of the upload is ${sizeBytes}`);
}

const createFieldError = (param: string, rule: string): ServiceError =>
  new ServiceError('invalid-request', `${rule}. (${param})`, { param });

const shorten = (id: string): string => id.slice(0, 80).toWellFormed();

function throwUploadNotFound(id: string): never {
  throw new ServiceError('not-found', `Upload with id '${shorten(id)}' not found.`);
}

const createEndedError = (id: string, status: string): ServiceError =>
  new ServiceError(
    'invalid-request',
    `Upload '${shorten(id)}' is ${status}: only a pending upload can be changed. Create another one.`,
    { param: 'upload_id' },
  );
