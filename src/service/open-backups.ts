import { mkdir, readdir } from 'node:fs/promises';
import { dirname, isAbsolute, join, relative } from 'node:path';
import { openBackupTarget, openExistingTarget, type BackupTarget } from '../backup/backup-target.ts';
import { createBackup, type BackupProgress, type BackupResult } from '../backup/create-backup.ts';
import { listDataFiles, type LeftOutFile } from '../backup/data-files.ts';
import { removeOldBackups, type RemovedBackups } from '../backup/remove-old-backups.ts';
import type { BlobStore, UnverifiedBlobStore } from '../blobs/blob-store.ts';
import { openBlobStore } from '../blobs/open-blob-store.ts';
import type { Config } from '../config/config.ts';
import { getBackupLockPath, lockForBackup } from '../backup/backup-lock.ts';
import { ServiceError } from '../core/error.ts';
import { systemClock } from '../lib/clock.ts';
import type { FileLock } from '../lib/file-lock.ts';
import { createSqliteSnapshotSource } from '../store/snapshots/sqlite-snapshot.ts';

export type Environment = Readonly<Record<string, string | undefined>>;

/** Folder of the data folder for database copies before they are in a target, and before migrations. */
export const getBackupsFolder = (config: Pick<Config, 'data'>): string => join(config.data, 'backups');

export const getDatabaseFile = (config: Pick<Config, 'store'>): string => config.store.url.slice('sqlite:'.length);

/** Folder of the database, which may be on another disk than the data folder. */
export const getDatabaseFolder = (config: Pick<Config, 'store'>): string => dirname(getDatabaseFile(config));

/** Age in ms of an unfinished upload in a bucket that no running backup has. */
const STALE_UPLOAD_MS = 24 * 3_600_000;

interface TargetOptions {
  /** Folder, or `s3://bucket/prefix`. */
  readonly location: string;
  readonly secret: Buffer | undefined;
  readonly environment: Environment;
  /** Folder for parts that wait to be sent to S3. */
  readonly spoolFolder: string;
}

const isS3 = (location: string): boolean => location.startsWith('s3://');

/** Opens a folder or a bucket for blobs, wherever the blobs of the service are. */
export const openLocation = ({
  location,
  environment,
  spoolFolder,
}: Omit<TargetOptions, 'secret'>): Promise<BlobStore> =>
  openBlobStore({
    url: isS3(location) ? location : undefined,
    urlLabel: 'The URL of the target',
    folder: isS3(location) ? spoolFolder : location,
    environment,
  });

/** Opens a target for reading. @throws ServiceError `invalid-request` if it has no backups. */
export async function openTargetForReading(options: TargetOptions): Promise<BackupTarget> {
  return await openWith(options, openExistingTarget);
}

async function openWith(options: TargetOptions, open: typeof openBackupTarget): Promise<BackupTarget> {
  const blobs = await openLocation(options);
  try {
    return await open({ blobs, label: options.location, secret: options.secret });
  } catch (thrown) {
    await blobs.close();
    throw thrown;
  }
}

export interface RunBackupOptions {
  readonly config: Config;
  readonly configFile: string | undefined;
  readonly environment: Environment;
  readonly location: string;
  readonly secret: Buffer | undefined;
  /** Backups that stay in the target, with the new one; undefined: all. */
  readonly keep: number | undefined;
  readonly version: string;
  readonly signal: AbortSignal;
  readonly onProgress?: (progress: BackupProgress) => void;
  /** Called with the ID of each newer backup whose manifest cannot be read. */
  readonly onUnreadable?: (id: string) => void;
}

export interface RunBackupResult extends BackupResult {
  readonly removed: RemovedBackups | undefined;
  /** Files of the data folder that the backup does not have. */
  readonly leftOut: readonly LeftOutFile[];
}

/** Backs up the service of the configuration. @throws ServiceError, as `createBackup` and `openBackupTarget`. */
export async function runBackup(options: RunBackupOptions): Promise<RunBackupResult> {
  const { config, location, environment } = options;
  const workFolder = isS3(location) ? getBackupsFolder(config) : join(location, 'incoming');
  // Services that share a target must not remove each other's new objects. In a bucket there is no such lock.
  const targetLock = isS3(location) ? undefined : await lockTargetFolder(location);
  let target: BackupTarget | undefined;
  let blobs: UnverifiedBlobStore | undefined;
  try {
    target = await openWith({ ...options, spoolFolder: join(workFolder, 'parts') }, openBackupTarget);
    blobs = await openBlobStore({ url: config.blobs.url, folder: join(config.data, 'blobs'), environment });
    // The lock of a folder keeps other backups away, so whatever is unfinished is a remainder.
    await target.removeStaleUploads(systemClock.now() - (targetLock ? 0 : STALE_UPLOAD_MS));
    const databaseFile = getDatabaseFile(config);
    const leftOut: LeftOutFile[] = [];
    const result = await createBackup({
      ...options,
      dataFolder: config.data,
      source: createSqliteSnapshotSource({ file: databaseFile }),
      databasePath: toDataPath(config.data, databaseFile),
      blobs,
      listFiles: () =>
        listDataFiles(config.data, {
          configFile: options.configFile,
          excluded: new Set([databaseFile, getBackupLockPath(config.data)]),
          onLeftOut: (file) => leftOut.push(file),
        }),
      target,
      workFolder,
      clock: systemClock,
    });
    return {
      ...result,
      leftOut,
      removed: options.keep === undefined ? undefined : await removeOldBackups(target, options.keep),
    };
  } finally {
    await blobs?.close();
    await target?.close();
    targetLock?.release();
  }
}

/** Entries of a target folder: folders of objects, of unfinished ones, and the lock. */
const TARGET_ENTRY = /^(?:[0-9a-f]{2}|incoming|backup\.lock(?:-journal)?)$/;

/** @throws ServiceError `invalid-request` if the folder has other content; `conflict` while another backup writes to it. */
async function lockTargetFolder(folder: string): Promise<FileLock> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const other = (await readdir(folder)).find((name) => !TARGET_ENTRY.test(name));
  if (other === undefined) return await lockForBackup(folder);
  throw new ServiceError(
    'invalid-request',
    `${folder} is no folder of backups: it contains ${other}. Name a new or empty folder.`,
  );
}

/** Returns where a restore puts the database: at the same path if it is in the data folder. */
function toDataPath(dataFolder: string, file: string): string {
  const path = relative(dataFolder, file);
  return path.startsWith('..') || isAbsolute(path) ? 'parley.db' : path;
}
