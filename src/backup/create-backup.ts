import { randomBytes } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, readdir, rm } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { BlobStore, UnverifiedBlobStore } from '../blobs/blob-store.ts';
import { createVerifiedBlobStore, type BlobDamage } from '../blobs/verified-blob-store.ts';
import { ServiceError } from '../core/error.ts';
import type { Clock } from '../lib/clock.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import type { ReferencedBlob } from '../store/referenced-blobs.ts';
import type { SnapshotContent, SnapshotHashes, SnapshotSource } from '../store/snapshots/snapshot.ts';
import { giveToFolderOwner, lockForBackup } from './backup-lock.ts';
import { listBackupIds, tryReadManifest, type BackupTarget } from './backup-target.ts';
import type { DataFile } from './data-files.ts';
import { readHash } from './hash-stream.ts';
import { mapUntilFailure } from './map-until-failure.ts';
import { BACKUP_COPY_CONCURRENCY, BACKUP_SPARE_BYTES } from './limits.ts';
import {
  BACKUP_FORMAT,
  getDamageMarkName,
  getDatabaseName,
  getFileName,
  type BackupManifest,
  type BackupObject,
} from './manifest.ts';

export interface BackupProgress {
  readonly phase: 'database' | 'blobs';
  readonly doneBytes: number;
  readonly totalBytes: number;
}

export interface CreateBackupOptions {
  /** Folder of the service; it is locked, so that no process deletes blobs meanwhile. */
  readonly dataFolder: string;
  readonly source: SnapshotSource;
  /** File of the database, relative to the data folder of the restored service. */
  readonly databasePath: string;
  readonly blobs: UnverifiedBlobStore;
  readonly listFiles: () => Promise<readonly DataFile[]>;
  readonly target: BackupTarget;
  /** Folder for the copy of the database until it is in the target. Created if it is missing. */
  readonly workFolder: string;
  readonly version: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: BackupProgress) => void;
  /** Called with the ID of each newer backup whose manifest cannot be read. */
  readonly onUnreadable?: (id: string) => void;
}

export interface BackupResult {
  readonly manifest: BackupManifest;
  /** Blobs that were copied now; the others were in the target. */
  readonly copied: { readonly count: number; readonly bytes: number };
}

/**
 * Backs up a service that may be running. Order: lock, copy of the database, blobs that the copy refers to, small
 * files, and last the manifest, without which a backup does not exist.
 * @throws ServiceError `conflict` while another backup of the service runs; `overloaded` if a disk is full; the signal's reason.
 */
export async function createBackup(options: CreateBackupOptions): Promise<BackupResult> {
  const { dataFolder, workFolder, target, clock, databasePath, source, version } = options;
  const lock = await lockForBackup(dataFolder);
  const createdAt = clock.now();
  const id = createBackupId(createdAt);
  const databaseFile = join(workFolder, `${id}.db`);
  try {
    const objects = await target.listObjects();
    await prepareWorkFolder(workFolder, dataFolder);
    await checkFreeBytes(workFolder, await source.getSizeBytes());
    const content = await source.write(databaseFile, {
      signal: options.signal,
      onProgress: (progress) => options.onProgress?.({ phase: 'database', ...progress }),
    });
    const hashes = await source.openHashes(databaseFile);
    const copies = await withHashes(hashes, () => copyBlobs(options, content, { objects, hashes }));
    const files = await writeFiles(id, options);
    const name = getDatabaseName(id);
    const database = await writeObject(options, name, createReadStream(databaseFile));
    const manifest: BackupManifest = {
      format: BACKUP_FORMAT,
      id,
      createdAt,
      finishedAt: clock.now(),
      version,
      database: { ...database, kind: source.kind, path: databasePath, migrations: [...content.migrations] },
      files,
      blobs: [...copies.blobs],
      problems: [...copies.problems],
    };
    options.signal.throwIfAborted();
    await target.writeManifest(manifest);
    return { manifest, copied: copies.copied };
  } finally {
    await rm(databaseFile, { force: true });
    lock.release();
  }
}

const BACKUP_ID = /^\d{8}T\d{9}Z-[0-9a-f]{6}/;

/** Creates the folder and removes copies of the database that killed backups have left. Requires the lock. */
async function prepareWorkFolder(folder: string, dataFolder: string): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  if (dirname(folder) === dataFolder) giveToFolderOwner(folder, dataFolder);
  for (const name of await readdir(folder)) if (BACKUP_ID.test(name)) await rm(join(folder, name), { force: true });
}

/** Returns an ID that sorts by time: `20261127T082350123Z-1a2b3c`. */
const createBackupId = (now: number): string =>
  `${new Date(now).toISOString().replaceAll(/[-:.]/g, '')}-${randomBytes(3).toString('hex')}`;

async function checkFreeBytes(folder: string, neededBytes: number): Promise<void> {
  const { freeBytes } = await readDiskSpace(folder);
  if (freeBytes >= neededBytes + BACKUP_SPARE_BYTES) return;
  throw new ServiceError(
    'overloaded',
    `${folder} has ${freeBytes} free bytes, but the copy of the database needs ${neededBytes + BACKUP_SPARE_BYTES}. Free space, or name a target on another disk.`,
  );
}

async function writeObject(
  { target, signal }: CreateBackupOptions,
  name: string,
  source: AsyncIterable<Uint8Array>,
): Promise<BackupObject> {
  const { sizeBytes, sha256 } = await target.write(name, source, { signal });
  return { name, sizeBytes, sha256 };
}

async function writeFiles(id: string, options: CreateBackupOptions): Promise<BackupManifest['files']> {
  const written: BackupManifest['files'] = [];
  for (const [number, { path, source, mode }] of (await options.listFiles()).entries()) {
    const object = await writeObject(options, getFileName(id, number), createReadStream(source));
    written.push({ ...object, path, mode });
  }
  return written;
}

interface BlobCopies extends Pick<BackupManifest, 'blobs' | 'problems'> {
  readonly copied: BackupResult['copied'];
}

type BlobCopy =
  | { readonly object: BackupObject; readonly isNew: boolean }
  | { readonly problem: string; readonly isRequired: boolean };

async function withHashes<T>(hashes: SnapshotHashes, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } finally {
    await hashes.close();
  }
}

async function copyBlobs(
  options: CreateBackupOptions,
  { blobs }: SnapshotContent,
  { objects, hashes }: { readonly objects: ReadonlyMap<string, number>; readonly hashes: SnapshotHashes },
): Promise<BlobCopies> {
  const source = createBlobSource(options.blobs, hashes);
  const known = await readKnownObjects(options, objects);
  const totalBytes = blobs.reduce((sum, { sizeBytes = 0 }) => sum + sizeBytes, 0);
  let doneBytes = 0;
  const onBytes = (bytes: number): void => {
    doneBytes += bytes;
    options.onProgress?.({ phase: 'blobs', doneBytes, totalBytes });
  };
  onBytes(0);
  const copies = await mapUntilFailure(blobs, BACKUP_COPY_CONCURRENCY, async (blob): Promise<BlobCopy> => {
    options.signal.throwIfAborted();
    const existing = await findInTarget(options.target, blob, { known, objects, onBytes });
    if (existing) return { object: existing, isNew: false };
    const copy = await copyBlob({ ...options, source }, blob, onBytes);
    const mark = getDamageMarkName(blob.name);
    if ('object' in copy && objects.has(mark)) await options.target.remove(mark);
    return copy;
  });
  const kept = copies.flatMap((copy) => ('object' in copy ? [copy] : []));
  const newBytes = kept.filter(({ isNew }) => isNew).map(({ object }) => object.sizeBytes);
  return {
    blobs: kept.map(({ object }) => object),
    problems: copies.flatMap((copy, at) =>
      'problem' in copy && copy.isRequired ? [{ blob: blobs[at]?.name ?? '', problem: copy.problem }] : [],
    ),
    copied: { count: newBytes.length, bytes: newBytes.reduce((sum, bytes) => sum + bytes, 0) },
  };
}

/**
 * Reads the hashes of the blobs of the newest backup with a readable manifest: most of the next one's blobs are among
 * them.
 */
async function readKnownObjects(
  { target, onUnreadable }: CreateBackupOptions,
  objects: ReadonlyMap<string, number>,
): Promise<ReadonlyMap<string, BackupObject>> {
  for (const id of listBackupIds(objects)) {
    const manifest = await tryReadManifest(target, id);
    if (manifest) return new Map(manifest.blobs.map((blob) => [blob.name, blob]));
    onUnreadable?.(id);
  }
  return new Map();
}

interface ReuseDeps {
  readonly known: ReadonlyMap<string, BackupObject>;
  readonly objects: ReadonlyMap<string, number>;
  readonly onBytes: (bytes: number) => void;
}

/**
 * Returns the object of a blob that is in the target already: names are written once. One that an interrupted or older
 * backup has copied is read again for its hash. Undefined if it is missing there, incomplete, damaged or
 * marked as damaged.
 */
async function findInTarget(
  target: BackupTarget,
  blob: ReferencedBlob,
  { known, objects, onBytes }: ReuseDeps,
): Promise<BackupObject | undefined> {
  const { name } = blob;
  const storedBytes = objects.get(name);
  const previous = known.get(name);
  if (storedBytes === undefined || objects.has(getDamageMarkName(name))) return undefined;
  if (previous && storedBytes === target.getStoredBytes(previous.sizeBytes) && isExpected(blob, previous)) {
    onBytes(previous.sizeBytes);
    return previous;
  }
  if (blob.sizeBytes === undefined || storedBytes !== target.getStoredBytes(blob.sizeBytes)) return undefined;
  // Without a recorded hash, nothing shows that an old copy is intact.
  if (blob.md5 === undefined) return undefined;
  try {
    const hash = await readHash(await target.read(name));
    if (!isExpected(blob, hash)) return undefined;
    onBytes(hash.sizeBytes);
    return { name, sizeBytes: hash.sizeBytes, sha256: hash.sha256 };
  } catch (thrown) {
    if (ServiceError.from(thrown).kind === 'internal') return undefined;
    throw thrown;
  }
}

const isExpected = (blob: ReferencedBlob, { sizeBytes, md5 }: { sizeBytes: number; md5?: string }): boolean =>
  (blob.sizeBytes === undefined || blob.sizeBytes === sizeBytes) &&
  (blob.md5 === undefined || md5 === undefined || blob.md5 === md5);

interface BlobSource {
  read: BlobStore['read'];
  /** Returns the damage that a read of the blob has found. */
  getDamage(blob: string): BlobDamage | undefined;
}

/** Verifies the blobs of the service while they are read: texts and received parts have no MD5. */
function createBlobSource(blobs: UnverifiedBlobStore, { find }: SnapshotHashes): BlobSource {
  const damages = new Map<string, BlobDamage>();
  const verified = createVerifiedBlobStore(blobs, {
    hashes: { find, put: async () => undefined, remove: async () => undefined },
    onDamage: (damage) => damages.set(damage.blob, damage),
  });
  return { read: verified.read, getDamage: (blob) => damages.get(blob) };
}

interface CopyBlobDeps extends Pick<CreateBackupOptions, 'target' | 'signal'> {
  readonly source: BlobSource;
}

/** Copies a blob. A damaged or missing one is a problem of the service, and does not keep the others from being copied. */
async function copyBlob(
  { source, target, signal }: CopyBlobDeps,
  blob: ReferencedBlob,
  onBytes: (bytes: number) => void,
): Promise<BlobCopy> {
  const { name, isRequired } = blob;
  try {
    const hash = await target.write(name, await source.read(name), { signal, onBytes });
    if (isExpected(blob, hash))
      return { object: { name, sizeBytes: hash.sizeBytes, sha256: hash.sha256 }, isNew: true };
  } catch (thrown) {
    const { kind } = ServiceError.from(thrown);
    const damage = source.getDamage(name);
    if (damage) return { problem: describeDamage(damage), isRequired };
    if (kind === 'file-not-found') return { problem: 'missing', isRequired };
    throw thrown;
  }
  await target.remove(name);
  return { problem: 'damaged: size or MD5 differ from the record of its file', isRequired };
}

const describeDamage = ({ position, expected, found }: BlobDamage): string =>
  position === undefined ? 'missing' : `damaged: the block at ${position} has ${found} instead of ${expected}`;
