import { mkdir, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { syncToDisk } from '../../lib/durable-file.ts';
import { tryLockFile } from '../../lib/file-lock.ts';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { checkDiskSpace, listFolder, statIfExists, readTextIfExists } from '../file-system.ts';
import { createProgressMeter, type ReportProgress } from '../progress-meter.ts';
import { acquirePullLock } from '../pull-lock.ts';
import { PULL_LIMITS, type Fetch, type PullLimits } from '../pull-limits.ts';
import { fetchArchive } from './fetch-archive.ts';
import { findNpmRegistry } from './npm-config.ts';
import type { EngineRuntime } from './speech-runtime.ts';
import { unpackArchive } from './unpack-archive.ts';

export interface RuntimeStoreOptions {
  /** Folder of the runtimes; created when missing. */
  readonly folder: string;
  /** Returns the runtime for this machine. @throws ServiceError `unsupported` when there is none. */
  readonly runtime: () => EngineRuntime;
  /** Registry that the operator configured. */
  readonly registryUrl: string | undefined;
  /** Registry that is used when neither the operator nor npm's configuration names one. */
  readonly defaultRegistryUrl: string;
  /** Environment that tells where npm's configuration is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info'>;
  readonly limits?: Partial<PullLimits>;
}

/** A runtime that is installed on this machine. */
export interface InstalledRuntime {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
  readonly sizeBytes: number;
  /** Whether it is another version than the one that this version of Parley loads. */
  readonly isOutdated: boolean;
}

/** Installs and finds the native library (ONNX runtime) that speech and small models run on. */
export interface RuntimeStore {
  readonly runtime: EngineRuntime | undefined;
  /** Returns the folder of the package that engines load, or undefined. Checks one file. */
  locate(): Promise<string | undefined>;
  /**
   * Returns the same folder and downloads the runtime when it is missing. Waits while another process installs it.
   * @throws ServiceError `upstream-failed` with the reason, `storage-quota`, `unsupported`; the signal's reason after
   * an abort. A failed installation leaves nothing that `locate` would find.
   */
  install(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<string>;
  /** Deletes all versions. Returns false when there were none. @throws ServiceError `locked` during an installation. */
  remove(): Promise<boolean>;
  list(): Promise<readonly InstalledRuntime[]>;
}

/** Name of the marker file, which is written last: a folder without it is not an installed runtime. */
const MARKER_FILE = 'runtime.json';

/** Upper estimate of the size of the unpacked files of one platform, relative to the archive. */
const UNPACKED_RATIO = 1;

export function createRuntimeStore(options: RuntimeStoreOptions): RuntimeStore {
  const { folder, clock, log } = options;
  const limits: PullLimits = { ...PULL_LIMITS, ...options.limits };
  const lockPath = join(folder, 'speech.lock');
  const getRuntimeFolder = ({ name, version }: EngineRuntime): string => join(folder, `${name}-${version}`);
  const getPackageFolder = (installedFolder: string, name: string): string =>
    join(installedFolder, 'node_modules', name);

  const getRuntime = (): EngineRuntime | undefined => {
    try {
      return options.runtime();
    } catch (thrown) {
      if (thrown instanceof ServiceError) return undefined;
      throw thrown;
    }
  };

  const locate = async (): Promise<string | undefined> => {
    const runtime = getRuntime();
    if (!runtime) return undefined;
    const runtimeFolder = getRuntimeFolder(runtime);
    return (await statIfExists(join(runtimeFolder, MARKER_FILE))) && getPackageFolder(runtimeFolder, runtime.main);
  };

  async function downloadRuntime(runtime: EngineRuntime, signal: AbortSignal, report: ReportProgress): Promise<void> {
    const { packages, name, version } = runtime;
    const totalBytes = packages.reduce((sum, { archiveBytes }) => sum + archiveBytes, 0);
    await checkDiskSpace(folder, totalBytes * (1 + UNPACKED_RATIO), limits.diskReserveBytes);
    const registry = options.registryUrl
      ? { url: options.registryUrl }
      : ((await findNpmRegistry(options.environment)) ?? { url: options.defaultRegistryUrl });
    const meter = createProgressMeter({ weights: `${name} ${version}`, source: 'registry', clock, report });
    const workFolder = `${getRuntimeFolder(runtime)}.partial`;
    await rm(workFolder, { recursive: true, force: true });
    await mkdir(workFolder);
    try {
      let finishedBytes = 0;
      for (const each of packages) {
        const archive = join(workFolder, 'archive.tgz');
        const onBytes = (bytes: number): void => meter.update({ doneBytes: finishedBytes + bytes, totalBytes });
        await fetchArchive(each, archive, { ...options, registry, limits, signal, onBytes });
        await unpackArchive(archive, getPackageFolder(workFolder, each.name), each, signal);
        await rm(archive);
        finishedBytes += each.archiveBytes;
      }
      await writeFile(join(workFolder, MARKER_FILE), `${JSON.stringify({ name, version })}\n`);
      await syncToDisk(join(workFolder, MARKER_FILE));
      await rm(getRuntimeFolder(runtime), { recursive: true, force: true });
      await rename(workFolder, getRuntimeFolder(runtime));
      await syncToDisk(folder);
    } finally {
      await rm(workFolder, { recursive: true, force: true });
    }
    log.info('runtime installed', { name, version, from: new URL(registry.url).origin });
  }

  return {
    get runtime() {
      return getRuntime();
    },
    locate,
    async install({ signal, onProgress }) {
      const runtime = options.runtime();
      const found = await locate();
      if (found !== undefined) return found;
      await mkdir(folder, { recursive: true });
      const onWait = (): void => log.info('waiting for another process that installs this runtime');
      const lock = await acquirePullLock(lockPath, limits, { signal, onWait });
      try {
        if ((await locate()) === undefined) await downloadRuntime(runtime, signal, onProgress);
        return getPackageFolder(getRuntimeFolder(runtime), runtime.main);
      } finally {
        lock.release();
      }
    },
    async remove() {
      if (!(await statIfExists(folder))) return false;
      const lock = tryLockFile(lockPath);
      if (!lock) throw new ServiceError('locked', 'The speech runtime is being installed.');
      try {
        const names = (await listFolder(folder)).filter((name) => RUNTIME_FOLDER_NAME.test(name));
        for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
        return names.length > 0;
      } finally {
        lock.release();
      }
    },
    async list() {
      const current = getRuntime();
      const installed: InstalledRuntime[] = [];
      for (const name of (await listFolder(folder)).toSorted()) {
        const installedFolder = join(folder, name);
        const marker = RUNTIME_FOLDER_NAME.test(name)
          ? await readTextIfExists(join(installedFolder, MARKER_FILE))
          : undefined;
        if (marker === undefined) continue;
        const version = name.slice(name.indexOf('-') + 1);
        installed.push({
          name: 'speech',
          version,
          folder: installedFolder,
          sizeBytes: await measureFolderBytes(installedFolder),
          isOutdated: version !== current?.version,
        });
      }
      return installed;
    },
  };
}

/** Matches the names of runtime folders, including those that an interrupted installation left. */
const RUNTIME_FOLDER_NAME = /^speech-\d+\.\d+\.\d+(?:\.partial)?$/;

async function measureFolderBytes(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((each) => each.isFile())
    .map(async (each) => (await stat(join(each.parentPath, each.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
