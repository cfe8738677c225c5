import { createWriteStream } from 'node:fs';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import type { BlobStore } from '../blobs/blob-store.ts';
import { ServiceError } from '../core/error.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { syncToDisk } from '../lib/durable-file.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import { listBackupIds, type BackupTarget } from './backup-target.ts';
import { DamagedObjectError } from './encryption.ts';
import { hashStream, readHash } from './hash-stream.ts';
import { mapUntilFailure } from './map-until-failure.ts';
import { BACKUP_COPY_CONCURRENCY } from './limits.ts';
import type { BackupManifest, BackupObject } from './manifest.ts';

/** An object of a backup that is missing or damaged. */
export interface ObjectDamage {
  readonly name: string;
  readonly problem: string;
}

export interface TransferProgress {
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface VerifyOptions {
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: TransferProgress) => void;
}

export interface RestoreOptions extends VerifyOptions {
  /** Data folder to create; must be missing or empty. */
  readonly folder: string;
  readonly blobs: BlobStore;
  /** Whether damaged objects other than the database are left out instead of refusing the restore. Default: false. */
  readonly allowDamaged?: boolean;
  /** Checks the restored database, and that this program can read it. @throws ServiceError. */
  readonly checkDatabase: (file: string) => Promise<void>;
  /**
   * Changes the restored files so that they name the restored data. Called before the database gets its name, without
   * which the folder is no service.
   */
  readonly relocateFiles: (folder: string) => Promise<void>;
}

/**
 * Finds the manifest of a backup.
 * @param id Default: the newest backup.
 * @throws ServiceError `not-found`, naming the backups that exist.
 */
export async function findBackup(target: BackupTarget, id: string | undefined): Promise<BackupManifest> {
  const ids = listBackupIds(await target.listObjects());
  const found = id ?? ids[0];
  if (found !== undefined && ids.includes(found)) return await target.readManifest(found);
  const existing = ids.length === 0 ? 'There is no complete backup.' : `There are: ${ids.join(', ')}.`;
  throw new ServiceError('not-found', id === undefined ? existing : `There is no backup ${id}. ${existing}`);
}

/** Reads every object of a backup and compares size and hash. @returns what is missing or damaged. */
export async function verifyBackup(
  target: BackupTarget,
  manifest: BackupManifest,
  { signal, onProgress }: VerifyOptions,
): Promise<readonly ObjectDamage[]> {
  const onBytes = createByteCounter(manifest, onProgress);
  const checked = await mapUntilFailure(listObjects(manifest), BACKUP_COPY_CONCURRENCY, (object) =>
    findDamage(object, async () => {
      signal.throwIfAborted();
      return await readHash(await target.read(object.name), onBytes);
    }),
  );
  return checked.filter((damage) => damage !== undefined);
}

/**
 * Restores a backup into an empty folder, and its blobs into an empty store. Every hash is verified. If anything is
 * damaged, nothing is left in either, unless `allowDamaged` is set and the database is intact.
 * @returns the damaged objects that were left out.
 * @throws ServiceError `internal` that names each damaged object; `invalid-request` if the store is not empty.
 */
export async function restoreBackup(
  target: BackupTarget,
  manifest: BackupManifest,
  options: RestoreOptions,
): Promise<readonly ObjectDamage[]> {
  const { folder, blobs, allowDamaged = false } = options;
  const startedBlobs: string[] = [];
  try {
    await checkBlobsEmpty(blobs);
    const damage = await restoreObjects(target, manifest, options, startedBlobs);
    const isRefused = !allowDamaged || damage.some(({ name }) => name === manifest.database.name);
    if (damage.length > 0 && isRefused) throw createDamageError(manifest, damage);
    await leaveOutDamaged(manifest, damage, options);
    await options.relocateFiles(folder);
    await rename(join(folder, getTemporaryPath(manifest)), join(folder, manifest.database.path));
    await syncToDisk(folder);
    return damage;
  } catch (thrown) {
    const leftCount = await removeBlobs(blobs, startedBlobs);
    for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true, force: true });
    if (leftCount === 0) throw thrown;
    const { kind, message } = ServiceError.from(thrown);
    const left = `${leftCount} objects of this restore could not be removed from the location of the file contents. Remove them, or name another location.`;
    throw new ServiceError(kind, `${message}\n${left}`, { cause: thrown });
  }
}

/**
 * A service deletes the blobs that its database does not know. Blobs of another service would be deleted at the start of
 * the restored one.
 */
async function checkBlobsEmpty(blobs: BlobStore): Promise<void> {
  for await (const { name } of blobs.list())
    throw new ServiceError(
      'invalid-request',
      `The location for the file contents is not empty: it has ${name}. The restored service would delete objects of others there. Name an empty location with --blobs, or omit --blobs.`,
      { param: 'blobs' },
    );
}

/** @returns the number of blobs that could not be deleted. */
async function removeBlobs(blobs: BlobStore, names: readonly string[]): Promise<number> {
  const removed = await mapUntilFailure(names, BACKUP_COPY_CONCURRENCY, (name) =>
    blobs.delete(name).then(
      () => true,
      () => false,
    ),
  );
  return removed.filter((isRemoved) => !isRemoved).length;
}

/** Returns the path of the database until it is checked. */
const getTemporaryPath = ({ database }: BackupManifest): string => `${database.path}.tmp`;

/** Removes what was written of damaged objects: a wrong secret or content must not look like a restored one. */
async function leaveOutDamaged(
  { files, blobs: blobObjects }: BackupManifest,
  damage: readonly ObjectDamage[],
  { folder, blobs }: RestoreOptions,
): Promise<void> {
  const damaged = new Set(damage.map(({ name }) => name));
  for (const { name, path } of files) if (damaged.has(name)) await rm(join(folder, path), { force: true });
  for (const { name } of blobObjects) if (damaged.has(name)) await blobs.delete(name);
}

/** @throws ServiceError `invalid-request` if the folder exists and is not empty; `overloaded` if its disk is too small. */
export async function prepareRestoreFolder(folder: string, manifest: BackupManifest): Promise<void> {
  const names = await readdir(folder).catch((thrown: unknown) => {
    if (getErrorCode(thrown) === 'ENOENT') return [];
    throw thrown;
  });
  if (names.length > 0)
    throw new ServiceError('invalid-request', `${folder} is not empty. Restore into a new or empty folder.`);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const neededBytes = sumBytes(manifest);
  const { freeBytes } = await readDiskSpace(folder);
  if (freeBytes < neededBytes)
    throw new ServiceError('overloaded', `${folder} has ${freeBytes} free bytes, but the backup needs ${neededBytes}.`);
}

async function restoreObjects(
  target: BackupTarget,
  manifest: BackupManifest,
  { folder, blobs, checkDatabase, signal, onProgress }: RestoreOptions,
  startedBlobs: string[],
): Promise<readonly ObjectDamage[]> {
  const onBytes = createByteCounter(manifest, onProgress);
  const damage = await mapUntilFailure(manifest.blobs, BACKUP_COPY_CONCURRENCY, (object) =>
    findDamage(object, async () => {
      const { stream, getHash } = hashStream(await target.read(object.name), onBytes);
      startedBlobs.push(object.name);
      await blobs.put(object.name, stream, { signal });
      return getHash();
    }),
  );
  const restoreFile = (object: BackupObject, path: string, mode: number) =>
    findDamage(object, async () => {
      signal.throwIfAborted();
      const { stream, getHash } = hashStream(await target.read(object.name), onBytes);
      const file = join(folder, path);
      await mkdir(dirname(file), { recursive: true, mode: 0o700 });
      await pipeline(Readable.from(stream), createWriteStream(file, { flags: 'wx', mode, flush: true }));
      return getHash();
    });
  for (const file of manifest.files) damage.push(await restoreFile(file, file.path, file.mode));
  // The database comes last, under another name until everything is checked: without it, the folder is no service.
  const temporary = getTemporaryPath(manifest);
  const databaseDamage = await restoreFile(manifest.database, temporary, 0o600);
  damage.push(databaseDamage);
  if (!databaseDamage) await checkDatabase(join(folder, temporary));
  return damage.filter((each) => each !== undefined);
}

/** Runs a transfer of an object and compares its size and hash. */
async function findDamage(
  { name, sizeBytes, sha256 }: BackupObject,
  transfer: () => Promise<{ readonly sizeBytes: number; readonly sha256: string }>,
): Promise<ObjectDamage | undefined> {
  try {
    const hash = await transfer();
    if (hash.sizeBytes !== sizeBytes) return { name, problem: `has ${hash.sizeBytes} bytes instead of ${sizeBytes}` };
    return hash.sha256 === sha256 ? undefined : { name, problem: 'its SHA-256 differs' };
  } catch (thrown) {
    if (thrown instanceof DamagedObjectError) return { name, problem: 'was changed after its encryption' };
    if (ServiceError.from(thrown).kind === 'file-not-found') return { name, problem: 'is missing' };
    throw thrown;
  }
}

/** Objects that an error names; the others are counted. */
const NAMED_DAMAGE_MAX = 20;

export const createDamageError = ({ id }: BackupManifest, damage: readonly ObjectDamage[], hint = ''): ServiceError =>
  new ServiceError(
    'internal',
    [
      `The backup ${id} is damaged. ${damage.length} of its objects are unusable:`,
      ...describeDamage(damage),
      ...(hint === '' ? [] : [hint]),
    ].join('\n'),
  );

/** Returns a line for each of the first damaged objects, and one for the number of the others. */
export function describeDamage(damage: readonly ObjectDamage[]): readonly string[] {
  const named = damage.slice(0, NAMED_DAMAGE_MAX).map(({ name, problem }) => `  ${name}: ${problem}`);
  const more = damage.length > named.length ? [`  and ${damage.length - named.length} more`] : [];
  return [...named, ...more];
}

const listObjects = ({ database, files, blobs }: BackupManifest): readonly BackupObject[] => [
  database,
  ...files,
  ...blobs,
];

export const sumBytes = (manifest: BackupManifest): number =>
  listObjects(manifest).reduce((sum, { sizeBytes }) => sum + sizeBytes, 0);

function createByteCounter(manifest: BackupManifest, onProgress: VerifyOptions['onProgress']): (bytes: number) => void {
  const totalBytes = sumBytes(manifest);
  let doneBytes = 0;
  return (bytes) => {
    doneBytes += bytes;
    onProgress?.({ doneBytes, totalBytes });
  };
}
