import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
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
const PROCESS_FILES = new Set(['server.json']);

/** Databases, their logs, locks, and files that are being written. */
const EXCLUDED_SUFFIX = /(?:\.lock|\.tmp|\.part|-wal|-shm|-journal|-reserve)$/;

/** Name of the configuration file in the restored data folder. */
const CONFIG_NAME = 'parley.yaml';

/**
 * Lists the files directly in the data folder, whatever their names, so that a new secret is never forgotten; and the
 * configuration file if it is elsewhere. Folders are left out: blobs are copied by name, and the others hold models,
 * engines, caches and state of running processes.
 * @param excluded Paths of databases.
 */
export async function listDataFiles(
  dataFolder: string,
  { configFile, excluded }: { readonly configFile: string | undefined; readonly excluded: ReadonlySet<string> },
): Promise<readonly DataFile[]> {
  const files: DataFile[] = [];
  for (const entry of await readdir(dataFolder, { withFileTypes: true })) {
    const source = join(dataFolder, entry.name);
    if (!entry.isFile() || excluded.has(source) || PROCESS_FILES.has(entry.name) || EXCLUDED_SUFFIX.test(entry.name))
      continue;
    const { size, mode } = await stat(source);
    if (size <= BACKUP_FILE_BYTES_MAX) files.push({ path: entry.name, source, mode: mode & 0o777 });
  }
  if (configFile !== undefined && !files.some(({ path }) => path === CONFIG_NAME))
    files.push({ path: CONFIG_NAME, source: configFile, mode: 0o600 });
  return files.toSorted((a, b) => (a.path < b.path ? -1 : 1));
}
