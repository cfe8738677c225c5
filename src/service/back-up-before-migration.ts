import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { Config } from '../config/config.ts';
import { ServiceError } from '../core/error.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import { syncToDisk } from '../lib/durable-file.ts';
import { findExistingFolder, readDiskSpace } from '../lib/read-disk-space.ts';
import { readMigrationState } from '../store/pending-migrations.ts';
import { createSqliteSnapshotSource } from '../store/snapshots/sqlite-snapshot.ts';
import { getBackupsFolder, getDatabaseFile, getDatabaseFolder } from './open-backups.ts';
import { MIGRATION_BACKUPS_MAX, MIGRATION_SPARE_BYTES } from './limits.ts';

/** Effect of a migration of the configured database. */
export interface MigrationPlan {
  readonly database: string;
  readonly databaseBytes: number;
  readonly applied: readonly string[];
  readonly pending: readonly string[];
  /** Whether the database is copied first. */
  readonly makesBackup: boolean;
  /** Free space that is required: that of the copy, and as much for the log of the migration. */
  readonly neededBytes: number;
  /** Free space on the disk of the database, or on that of the copy if it is less. */
  readonly freeBytes: number;
}

export interface MigrationBackupDeps {
  readonly clock?: Clock;
  readonly plan?: typeof planMigration;
}

/** Name of a copy: its migration, and the time as the group. */
const BACKUP_NAME = /^before-[\w-]+-(\d{8}T\d{9}Z)\.db$/;

/** Reads what a migration would do, and changes nothing. @throws ServiceError `internal` if the database is newer. */
export async function planMigration(config: Config): Promise<MigrationPlan> {
  const database = getDatabaseFile(config);
  const { applied, pending } = readMigrationState(database);
  const databaseBytes = applied.length === 0 ? 0 : await createSqliteSnapshotSource({ file: database }).getSizeBytes();
  const makesBackup = applied.length > 0 && pending.length > 0 && config.store.backupBeforeMigration;
  return {
    database,
    databaseBytes,
    applied,
    pending,
    makesBackup,
    neededBytes: pending.length === 0 ? 0 : databaseBytes * (makesBackup ? 2 : 1),
    freeBytes: await readFreeBytes(
      makesBackup ? [config.data, getDatabaseFolder(config)] : [getDatabaseFolder(config)],
    ),
  };
}

/** Returns the free bytes of the disk with the least. Folders may be missing. */
async function readFreeBytes(folders: readonly string[]): Promise<number> {
  const disks = await Promise.all(folders.map((folder) => readDiskSpace(findExistingFolder(folder))));
  return Math.min(...disks.map(({ freeBytes }) => freeBytes));
}

/**
 * Copies an existing database to the folder `backups` of the data folder if this program is going to migrate it. The
 * newest copies are kept.
 * @returns the file; undefined if nothing is to be migrated.
 * @throws ServiceError `overloaded` if the disk has no room: then the database stays as it is.
 */
export async function backUpBeforeMigration(
  config: Config,
  { clock = systemClock, plan = planMigration }: MigrationBackupDeps = {},
): Promise<string | undefined> {
  const { database, pending, makesBackup, neededBytes, freeBytes } = await plan(config);
  if (!makesBackup) return undefined;
  if (freeBytes < neededBytes + MIGRATION_SPARE_BYTES) {
    throw new ServiceError(
      'overloaded',
      `The database must be migrated, and is copied before: that needs ${neededBytes + MIGRATION_SPARE_BYTES} free bytes on the disks of ${config.data} and of ${database}, but ${freeBytes} are free. ` +
        'Free space; or make a backup elsewhere with `parley backup` and set store.backupBeforeMigration to false.',
    );
  }
  const folder = getBackupsFolder(config);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  const time = new Date(clock.now()).toISOString().replaceAll(/[-:.]/g, '');
  const file = join(folder, `before-${pending[0]}-${time}.db`);
  const temporary = `${file}.${process.pid}.tmp`;
  try {
    await createSqliteSnapshotSource({ file: database }).write(temporary);
    await rename(temporary, file);
    await syncToDisk(folder);
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  }
  await removeOldCopies(folder, basename(file));
  return file;
}

/** Keeps the copy that was just made, whatever the clock says, and the newest others. */
async function removeOldCopies(folder: string, newName: string): Promise<void> {
  const others = (await readdir(folder)).filter((name) => BACKUP_NAME.test(name) && name !== newName);
  const newestFirst = others.toSorted((a, b) => (getCopyTime(a) < getCopyTime(b) ? 1 : -1));
  for (const name of newestFirst.slice(MIGRATION_BACKUPS_MAX - 1)) await rm(join(folder, name));
}

const getCopyTime = (name: string): string => BACKUP_NAME.exec(name)?.[1] ?? '';
