import { Command } from 'commander';
import type { LoadedConfig } from '../config/load-config.ts';
import { ServiceError } from '../core/error.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import { lockDataFolder } from '../service/lock-data-folder.ts';
import { getDatabaseFile, getDatabaseFolder, type Environment } from '../service/open-backups.ts';
import { readDiskUsage, type DiskUsage } from '../service/read-disk-usage.ts';
import { createSqliteMaintenance } from '../store/maintenance/sqlite-maintenance.ts';
import { formatBytes } from '../weights/format-bytes.ts';
import { formatJsonLine } from './format-json-line.ts';
import { formatTable } from './format-table.ts';
import { isServerRunning } from './server-registration.ts';

export interface DiskCommandDeps {
  readonly load: (flags: Readonly<Record<string, unknown>>) => LoadedConfig;
  readonly env: Environment;
  readonly stdout: { write(text: string): unknown };
  /** Called with 1 when an area cannot be read. */
  readonly setExitCode: (code: number) => void;
  readonly isServerRunning?: (dataFolder: string) => Promise<boolean>;
}

interface DiskOptions {
  readonly compact?: true;
  readonly json?: true;
}

/** Creates `parley disk`. */
export function createDiskCommand(deps: DiskCommandDeps): Command {
  return new Command('disk')
    .description('show what uses how much of the disk; reads the whole database')
    .option('--compact', 'write the database anew without unused space; needs a stopped service and free space')
    .option('--json', 'print one JSON object')
    .action(async ({ compact, json }: DiskOptions, command: Command) => {
      const { config } = deps.load(command.optsWithGlobals());
      if (compact) await compactStopped(deps, config);
      const usage = await readDiskUsage(config, deps.env);
      deps.stdout.write(json ? formatJsonLine(usage) : formatUsage(usage));
      if (Object.keys(usage.failures).length > 0) deps.setExitCode(1);
    });
}

/** The new database and its way through the write-ahead log: twice the size of what stays. */
const COMPACT_COPIES = 2;

async function compactStopped(deps: DiskCommandDeps, config: LoadedConfig['config']): Promise<void> {
  if (await (deps.isServerRunning ?? isServerRunning)(config.data))
    throw new ServiceError(
      'conflict',
      'A service is running with this data folder, and could not write meanwhile. Stop it, then compact.',
    );
  // A service that starts meanwhile could not write.
  const lock = lockDataFolder(config.data);
  try {
    await compactDatabase(config);
  } finally {
    lock.release();
  }
}

async function compactDatabase(config: LoadedConfig['config']): Promise<void> {
  const folder = getDatabaseFolder(config);
  const maintenance = createSqliteMaintenance({ file: getDatabaseFile(config) });
  const { fileBytes, freeBytes } = await maintenance.readUsage();
  const neededBytes = COMPACT_COPIES * (fileBytes - freeBytes);
  const { freeBytes: available } = await readDiskSpace(folder);
  if (available < neededBytes)
    throw new ServiceError(
      'overloaded',
      `Compacting needs ${formatBytes(neededBytes)} of free space in ${folder}, but ${formatBytes(available)} are free.`,
    );
  await maintenance.compact();
}

function formatUsage({ database, blobs, workspaces, folders, disk, failures }: DiskUsage): string {
  const formatSum = (kind: string, { count, bytes }: { count: number; bytes: number }) => [
    kind,
    String(count),
    formatBytes(bytes),
  ];
  const sections = [
    database && formatDatabase(database),
    blobs &&
      formatTable([['BLOBS', 'NUMBER', 'SIZE'], ...Object.entries(blobs).map(([kind, sum]) => formatSum(kind, sum))]),
    workspaces &&
      formatTable([
        ['WORKSPACE', 'FILES', 'SIZE'],
        ...workspaces.map(({ region, workspace, ...sum }) => formatSum(`${region}/${workspace}`, sum)),
      ]),
    folders &&
      formatTable([
        ['FOLDER', 'SIZE', 'PATH'],
        ...Object.entries(folders).map(([kind, { path, bytes }]) => [kind, formatBytes(bytes), path]),
      ]),
    disk && `Disk of the data folder: ${formatBytes(disk.freeBytes)} free of ${formatBytes(disk.totalBytes)}\n`,
    ...Object.entries(failures).map(([area, reason]) => `Cannot read ${area}: ${reason}\n`),
  ].filter((section) => section !== undefined);
  const hint =
    !database || database.givesBackSpace
      ? ''
      : '\nThis database gives back no space. To change that, stop the service and run: parley disk --compact\n';
  return sections.join('\n') + hint;
}

const formatDatabase = (database: NonNullable<DiskUsage['database']>): string =>
  formatTable([
    ['DATABASE', 'ROWS', 'TABLE', 'INDEXES'],
    ...database.tables.map(({ table, rows, tableBytes, indexBytes }) => [
      table,
      rows === undefined ? '-' : String(rows),
      formatBytes(tableBytes),
      formatBytes(indexBytes),
    ]),
    ['unused', '-', formatBytes(database.freeBytes), '-'],
    ['write-ahead log', '-', formatBytes(database.logBytes), '-'],
    ['file', '-', formatBytes(database.fileBytes), '-'],
  ]);
