import type { Stats } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { getErrorCode } from '../lib/error-code.ts';
import { BACKUP_FILE_BYTES_MAX } from './limits.ts';

/** A file of the data folder that a backup has: a secret, a key, or the configuration. */
export interface DataFile {
  /** Path within the data folder of the restored service. */
  readonly path: string;
  /** The path of the file now. */
  readonly source: string;
  readonly mode: number;
}

/** Files that describe a running process, and are wrong after a restore. */
const PROCESS_FILES = new Set(['server.json', 'service.lock', 'service.lock-journal']);

/** Databases, their logs, locks, and files that are being written. */
const EXCLUDED_SUFFIX = /(?:\.lock|\.tmp|\.part|-wal|-shm|-journal|-reserve)$/;

/** Name of the configuration file in the restored data folder. */
const CONFIG_NAME = 'parley.yaml';

/** An entry of the data folder, no folder itself, that a backup does not have. */
export interface LeftOutFile {
  readonly path: string;
  /** Undefined for a broken link. */
  readonly sizeBytes: number | undefined;
  /** The kind of the file and why it is left out, such as `larger than 16 MiB`. */
  readonly reason: string;
}

export interface DataFilesOptions {
  /** The configuration file that the service uses. It is stored as `parley.yaml`, wherever it is. */
  readonly configFile: string | undefined;
  /** Paths of databases and locks, which are copied otherwise or belong to processes. */
  readonly excluded: ReadonlySet<string>;
  readonly onLeftOut?: ((file: LeftOutFile) => void) | undefined;
}

/**
 * Lists the files directly in the data folder, whatever their names, so that a new secret is never forgotten, and the
 * configuration file. Follows symbolic links to files: Kubernetes mounts secrets as such. Folders are left out: blobs are
 * copied by name, and the others hold models, engines, caches and state of running processes.
 */
export async function listDataFiles(
  dataFolder: string,
  { configFile, excluded, onLeftOut }: DataFilesOptions,
): Promise<readonly DataFile[]> {
  const files: DataFile[] = [];
  for (const entry of await readdir(dataFolder, { withFileTypes: true })) {
    const source = join(dataFolder, entry.name);
    if (entry.isDirectory() || source === configFile || isExcluded(source, excluded) || PROCESS_FILES.has(entry.name))
      continue;
    const stats = await statIfPresent(source);
    if (!stats && !entry.isSymbolicLink()) continue; // removed meanwhile
    const reason = findReasonToLeaveOut(entry.name, stats, configFile);
    if (stats && reason === undefined) files.push({ path: entry.name, source, mode: stats.mode & 0o777 });
    if (reason !== undefined) onLeftOut?.({ path: entry.name, sizeBytes: stats?.size, reason });
  }
  if (configFile !== undefined) files.push({ path: CONFIG_NAME, source: configFile, mode: 0o600 });
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}

/** Whether a file is excluded, or a log, journal or reserve of an excluded one. */
const isExcluded = (source: string, excluded: ReadonlySet<string>): boolean =>
  excluded.has(source) || excluded.has(source.replace(/-(?:wal|shm|journal|reserve)$/, ''));

/** @returns undefined for a link whose target is missing, and for a file that was removed meanwhile. */
async function statIfPresent(path: string): Promise<Stats | undefined> {
  try {
    return await stat(path);
  } catch (thrown) {
    if (['ENOENT', 'ELOOP', 'ENOTDIR'].includes(getErrorCode(thrown) ?? '')) return undefined;
    throw thrown;
  }
}

function findReasonToLeaveOut(
  name: string,
  stats: Stats | undefined,
  configFile: string | undefined,
): string | undefined {
  if (!stats) return 'link to nothing';
  if (stats.isDirectory()) return 'link to a folder';
  if (!stats.isFile()) return 'no regular file';
  if (EXCLUDED_SUFFIX.test(name)) return 'lock, log or unfinished file by its name';
  if (name === CONFIG_NAME && configFile !== undefined) return `not the configuration that is used: ${configFile}`;
  if (stats.size > BACKUP_FILE_BYTES_MAX) return `larger than ${BACKUP_FILE_BYTES_MAX} bytes`;
  return undefined;
}
