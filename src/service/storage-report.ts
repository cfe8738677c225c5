import { ServiceError } from '../core/error.ts';
import type { DiskSpace } from '../lib/read-disk-space.ts';
import { readDiskSpace } from '../lib/read-disk-space.ts';
import type { Store } from '../store/store.ts';

/** State of what the service stores. */
export interface StorageReport {
  /** `failed`: nothing can be stored. `degraded`: the operator should act before that happens. */
  readonly state: 'ok' | 'degraded' | 'failed';
  readonly reason?: string;
  /** Disk of the data folder; absent when it cannot be read. */
  readonly disk?: DiskSpace;
}

interface StorageReportDeps {
  readonly store: Pick<Store, 'transaction'>;
  /** Returns the damage of the database that was found; undefined if none was. */
  readonly getDatabaseProblem: () => string | undefined;
  /** The data folder. */
  readonly folder: string;
  /** Free share of the disk below which the storage is degraded. */
  readonly freeShareMin: number;
  readonly readSpace?: (folder: string) => Promise<DiskSpace>;
}

/** Reports whether the database can be written and whether the disk of the data folder has room. */
export async function buildStorageReport({
  store,
  getDatabaseProblem,
  folder,
  freeShareMin,
  readSpace = readDiskSpace,
}: StorageReportDeps): Promise<StorageReport> {
  // A transaction without a change needs the lock of the database and its file, but no space.
  const writeFailure = await store.transaction(() => Promise.resolve(), { usesReserve: true }).catch(describeFailure);
  const failure = getDatabaseProblem() ?? writeFailure;
  const disk = await readSpace(folder).catch(describeFailure);
  if (failure !== undefined) return { state: 'failed', reason: failure, ...(typeof disk !== 'string' && { disk }) };
  if (typeof disk === 'string') return { state: 'failed', reason: disk };
  const share = disk.totalBytes === 0 ? 1 : disk.freeBytes / disk.totalBytes;
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

/** The report is for the operator, so it names the cause, which callers do not learn. */
function describeFailure(thrown: unknown): string {
  const error = ServiceError.from(thrown);
  return error.cause instanceof Error ? error.cause.message : error.message;
}
