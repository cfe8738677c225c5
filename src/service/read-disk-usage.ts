import { existsSync } from 'node:fs';
import { lstat, opendir } from 'node:fs/promises';
import { join } from 'node:path';
import { openBlobStore } from '../blobs/open-blob-store.ts';
import type { Config } from '../config/config.ts';
import { describeCause } from '../core/error.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { readDiskSpace, type DiskSpace } from '../lib/read-disk-space.ts';
import {
  AUDIO_BLOB_PREFIX,
  BATCH_OUTPUT_BLOB_PREFIX,
  FILE_BLOB_PREFIX,
  TEXT_BLOB_PREFIX,
} from '../resources/files/remove.ts';
import type { DatabaseUsage } from '../store/maintenance/maintenance.ts';
import { createSqliteMaintenance } from '../store/maintenance/sqlite-maintenance.ts';
import { openDatabase } from './open-components.ts';
import { getBackupsFolder, getDatabaseFile, type Environment } from './open-backups.ts';

/** Bytes of a kind of content, and their number. */
export interface ContentSum {
  readonly count: number;
  readonly bytes: number;
}

/** Report of what uses the disk. An area that cannot be read is absent, and named in `failures`. */
export interface DiskUsage {
  readonly database?: DatabaseUsage;
  /** Stored blobs by kind. */
  readonly blobs?: Readonly<Record<string, ContentSum>>;
  /** Files as their workspaces see them, which is what quotas count. */
  readonly workspaces?: readonly (ContentSum & { readonly region: string; readonly workspace: string })[];
  /** Folders of the service by what they hold. */
  readonly folders?: Readonly<Record<string, { readonly path: string; readonly bytes: number }>>;
  /** Disk of the data folder. */
  readonly disk?: DiskSpace;
  /** Why an area cannot be read, by its name. */
  readonly failures: Readonly<Record<string, string>>;
}

const BLOB_KINDS: readonly (readonly [prefix: string, kind: string])[] = [
  [FILE_BLOB_PREFIX, 'files'],
  [BATCH_OUTPUT_BLOB_PREFIX, 'batch results'],
  [TEXT_BLOB_PREFIX, 'extracted texts'],
  [AUDIO_BLOB_PREFIX, 'audio'],
];

/** Measures what uses how much of the disk. Reads the whole database and lists all blobs. */
export async function readDiskUsage(config: Config, environment: Environment): Promise<DiskUsage> {
  const failures: Record<string, string> = {};
  const read = async <Area extends string, Value>(
    area: Area,
    readArea: () => Promise<Value>,
  ): Promise<Partial<Record<Area, Value>>> => {
    try {
      return { [area]: await readArea() } as Record<Area, Value>;
    } catch (error) {
      failures[area] = describeCause(error);
      return {};
    }
  };
  return {
    // This area comes first, because it creates the database if there is none.
    ...(await read('workspaces', () => readWorkspaces(config))),
    ...(await read('database', () => createSqliteMaintenance({ file: getDatabaseFile(config) }).readUsage())),
    ...(await read('blobs', () => readBlobs(config, environment))),
    ...(await read('folders', () => readFolders(config))),
    ...(await read('disk', () => readDiskSpace(config.data))),
    failures,
  };
}

async function readWorkspaces(config: Config): Promise<NonNullable<DiskUsage['workspaces']>> {
  const store = await openDatabase(config);
  try {
    const totals = await store.fileTotals.listAll();
    return totals.map(({ region, workspace, files, bytes }) => ({ region, workspace, count: files, bytes }));
  } finally {
    await store.close();
  }
}

async function readBlobs(config: Config, environment: Environment): Promise<NonNullable<DiskUsage['blobs']>> {
  const store = await openBlobStore({ url: config.blobs.url, folder: join(config.data, 'blobs'), environment });
  const kinds: Record<string, { count: number; bytes: number }> = {};
  try {
    for await (const { name, sizeBytes } of store.list()) {
      const kind = BLOB_KINDS.find(([prefix]) => name.startsWith(prefix))?.[1] ?? 'other';
      const sum = (kinds[kind] ??= { count: 0, bytes: 0 });
      sum.count += 1;
      sum.bytes += sizeBytes;
    }
    return kinds;
  } finally {
    await store.close();
  }
}

async function readFolders(config: Config): Promise<NonNullable<DiskUsage['folders']>> {
  const folders: Readonly<Record<string, string>> = {
    models: config.modelsFolder,
    engines: config.enginesFolder,
    'engine state': join(config.data, 'run'),
    'code interpreter': join(config.data, 'code'),
    'code inputs': join(config.data, 'code-inputs'),
    'unfinished uploads': join(config.data, 'blobs', 'incoming'),
    'database copies': getBackupsFolder(config),
  };
  const usage: Record<string, { path: string; bytes: number }> = {};
  for (const [kind, path] of Object.entries(folders))
    if (existsSync(path)) usage[kind] = { path, bytes: await measureFolder(path) };
  return usage;
}

/** Adds up the disk blocks of all files below a folder. Links are not followed; files that vanish meanwhile count nothing. */
async function measureFolder(folder: string): Promise<number> {
  let bytes = 0;
  try {
    for await (const entry of await opendir(folder, { recursive: true })) {
      const stats = await lstat(join(entry.parentPath, entry.name)).catch(() => undefined);
      // A block of `blocks` has 512 bytes, whatever the file system.
      bytes += (stats?.blocks ?? 0) * 512;
    }
  } catch (error) {
    if (getErrorCode(error) !== 'ENOENT') throw error;
  }
  return bytes;
}
