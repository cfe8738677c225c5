import { ServiceError } from '../core/error.ts';
import type { DiskSpace } from '../lib/read-disk-space.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import type { Store } from '../store/store.ts';

/** State of what the service stores. */
export interface StorageReport {
  /** `failed`: nothing can be stored. `degraded`: the operator should act before that happens. */
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly reason?: string;
  /** The disk with the smaller free share of those of the data folder and the database; absent when it cannot be read. */
  readonly disk?: DiskSpace;
}

interface StorageReportDeps {
  readonly store: Pick<Store, 'transaction'>;
  /** Returns the damage of the database that was found; undefined if none was. */
  readonly getDatabaseProblem: () => string | undefined;
  /** The data folder and the folder of the database. The report is about the disk with the smaller free share. */
  readonly folders: readonly [string, ...string[]];
  /** Free share of the disk below which the storage is degraded. */
  readonly freeShareMin: number;
  readonly readSpace?: (folder: string) => Promise<DiskSpace>;
}

/** Reports whether the database can be written and whether the disks of the folders have room. */
export async function buildStorageReport({
  store,
  getDatabaseProblem,
  folders,
  freeShareMin,
  readSpace = readDiskSpace,
}: StorageReportDeps): Promise<StorageReport> {
  // A transaction without a change needs the lock of the database and its file, but no space.
  const writeFailure = await store.transaction(() => Promise.resolve(), { usesReserve: true }).catch(describeFailure);
  const failure = getDatabaseProblem() ?? writeFailure;
  const fullest = await findFullestDisk(folders, readSpace).catch(describeFailure);
  if (failure !== undefined)
    return { state: 'failed', reason: failure, ...(typeof fullest !== 'string' && { disk: fullest.disk }) };
  if (typeof fullest === 'string') return { state: 'failed', reason: fullest };
  const { folder, disk, share } = fullest;
  if (share >= freeShareMin) return { state: 'ok', disk };
  const percent = (value: number): string => `${(value * 100).toFixed(1)} %`;
  return {
    state: 'degraded',
    reason:
      `${percent(share)} of the disk of ${folder} is free, less than ${percent(freeShareMin)} (disk.freeShareMin): ` +
      'delete files or enlarge the disk; uploads are refused before the database cannot be written',
    disk,
  };
}

interface FolderDisk {
  readonly folder: string;
  readonly disk: DiskSpace;
  readonly share: number;
}

/** Returns the disk with the smallest free share. */
async function findFullestDisk(
  folders: StorageReportDeps['folders'],
  readSpace: typeof readDiskSpace,
): Promise<FolderDisk> {
  const readFolder = async (folder: string): Promise<FolderDisk> => {
    const disk = await readSpace(folder);
    return { folder, disk, share: disk.totalBytes === 0 ? 1 : disk.freeBytes / disk.totalBytes };
  };
  const [first, ...others] = folders;
  let fullest = await readFolder(first);
  for (const folder of others) {
    const other = await readFolder(folder);
    if (other.share < fullest.share) fullest = other;
  }
  return fullest;
}

/** The report is for the operator, so it names the cause, which callers do not learn. */
function describeFailure(thrown: unknown): string {
  const error = ServiceError.from(thrown);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
