import { mkdir, readFile, readdir, rename, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import type { Log } from '../../core/telemetry.ts';
import type { Clock } from '../../lib/clock.ts';
import { checkDiskSpace, errorCode, readFolder, statOf, sync } from '../file-system.ts';
import { createProgressMeter } from '../progress.ts';
import type { ReportProgress } from '../progress.ts';
import { acquirePullLock, tryPullLock } from '../pull-lock.ts';
import type { Fetch, PullLimits } from '../pull-options.ts';
import { PULL_LIMITS } from '../pull-options.ts';
import { fetchArchive } from './fetch-archive.ts';
import { findNpmRegistry } from './npm-config.ts';
import type { EngineRuntime } from './speech-runtime.ts';
import { unpackArchive } from './unpack-archive.ts';

export interface RuntimeStoreOptions {
  /** Made when it is not there. */
  readonly folder: string;
  /** @throws ServiceError `unsupported` where this machine can have none. */
  readonly runtime: () => EngineRuntime;
  /** The operator's own wish. */
  readonly registryUrl: string | undefined;
  /** Where npm's configuration names none either. */
  readonly defaultRegistryUrl: string;
  /** Where npm's configuration is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly log: Pick<Log, 'info'>;
  readonly limits?: Partial<PullLimits>;
}

/** A runtime on this machine. */
export interface InstalledRuntime {
  readonly name: string;
  readonly version: string;
  readonly folder: string;
  readonly sizeBytes: number;
  /** Another version, which nothing of ours loads any more. */
  readonly isOld: boolean;
}

/** Keeps the native library that speech and small models run on. */
export interface RuntimeStore {
  readonly runtime: EngineRuntime | undefined;
  /** The package's folder as engines load it, or undefined. Costs a look at one file. */
  locate(): Promise<string | undefined>;
  /**
   * The same; downloads it if it is not here. Waits for another process that is at it.
   * @throws ServiceError `upstream-failed` with the reason, `storage-quota`, `unsupported`; the signal's reason when it aborts.
   *   What is left behind is nothing that could be taken for a runtime.
   */
  add(options: { readonly signal: AbortSignal; readonly onProgress: ReportProgress }): Promise<string>;
  /** Also versions of before. False when there was nothing. @throws ServiceError `locked` while it is being installed. */
  remove(): Promise<boolean>;
  list(): Promise<readonly InstalledRuntime[]>;
}

/** Written last: a folder without it is no runtime. */
const MARK = 'runtime.json';

/** Ours: what an archive of these may become, unpacked, of one platform. */
const UNPACKED_SHARE = 1;

export function createRuntimeStore(options: RuntimeStoreOptions): RuntimeStore {
  const { folder, clock, log } = options;
  const limits: PullLimits = { ...PULL_LIMITS, ...options.limits };
  const lock = { path: join(folder, 'speech.lock'), clock, limits };
  const folderOf = ({ name, version }: EngineRuntime): string => join(folder, `${name}-${version}`);
  const packageFolder = (at: string, name: string): string => join(at, 'node_modules', name);

  const runtimeOf = (): EngineRuntime | undefined => {
    try {
      return options.runtime();
    } catch (thrown) {
      if (thrown instanceof ServiceError) return undefined;
      throw thrown;
    }
  };

  const locate = async (): Promise<string | undefined> => {
    const runtime = runtimeOf();
    if (!runtime) return undefined;
    const home = folderOf(runtime);
    return (await statOf(join(home, MARK))) && packageFolder(home, runtime.main);
  };

  async function install(runtime: EngineRuntime, signal: AbortSignal, report: ReportProgress): Promise<void> {
    const { packages, name, version } = runtime;
    const totalBytes = packages.reduce((sum, { archiveBytes }) => sum + archiveBytes, 0);
    await checkDiskSpace(folder, totalBytes * (1 + UNPACKED_SHARE), limits.diskReserveBytes);
    const registry = options.registryUrl
      ? { url: options.registryUrl }
      : ((await findNpmRegistry(options.environment)) ?? { url: options.defaultRegistryUrl });
    const meter = createProgressMeter({ weights: `${name} ${version}`, source: 'registry', clock, report });
    const work = `${folderOf(runtime)}.partial`;
    await rm(work, { recursive: true, force: true });
    await mkdir(work);
    try {
      let before = 0;
      for (const each of packages) {
        const archive = join(work, 'archive.tgz');
        const onBytes = (bytes: number): void => meter.set({ doneBytes: before + bytes, totalBytes });
        await fetchArchive(each, archive, { ...options, registry, limits, signal, onBytes });
        await unpackArchive(archive, packageFolder(work, each.name), each, signal);
        await rm(archive);
        before += each.archiveBytes;
      }
      await writeFile(join(work, MARK), `${JSON.stringify({ name, version })}\n`);
      await sync(join(work, MARK));
      await rm(folderOf(runtime), { recursive: true, force: true });
      await rename(work, folderOf(runtime));
      await sync(folder);
    } finally {
      await rm(work, { recursive: true, force: true });
    }
    log.info('a runtime was installed', { name, version, from: new URL(registry.url).origin });
  }

  return {
    get runtime() {
      return runtimeOf();
    },
    locate,
    async add({ signal, onProgress }) {
      const runtime = options.runtime();
      const found = await locate();
      if (found !== undefined) return found;
      await mkdir(folder, { recursive: true });
      const onWait = (pid: number | undefined): void =>
        log.info('another process is installing this runtime; waiting for it', { pid });
      const held = await acquirePullLock(lock, { signal, onWait });
      try {
        if ((await locate()) === undefined) await install(runtime, signal, onProgress);
        return packageFolder(folderOf(runtime), runtime.main);
      } finally {
        await held.release();
      }
    },
    async remove() {
      if (!(await statOf(folder))) return false;
      const held = await tryPullLock(lock);
      if (!held) throw new ServiceError('locked', 'The speech runtime is being installed.');
      try {
        const names = (await readFolder(folder)).filter((name) => OURS.test(name));
        for (const name of names) await rm(join(folder, name), { recursive: true, force: true });
        return names.length > 0;
      } finally {
        await held.release();
      }
    },
    async list() {
      const current = runtimeOf();
      const installed: InstalledRuntime[] = [];
      for (const name of (await readFolder(folder)).toSorted()) {
        const at = join(folder, name);
        const mark = OURS.test(name) ? await readMark(join(at, MARK)) : undefined;
        if (mark === undefined) continue;
        const version = name.slice(name.indexOf('-') + 1);
        installed.push({
          name: 'speech',
          version,
          folder: at,
          sizeBytes: await sizeOf(at),
          isOld: version !== current?.version,
        });
      }
      return installed;
    },
  };
}

/** Folders of ours, also one that an installation has left. */
const OURS = /^speech-\d+\.\d+\.\d+(?:\.partial)?$/;

async function readMark(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}

async function sizeOf(folder: string): Promise<number> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  const sizes = entries
    .filter((each) => each.isFile())
    .map(async (each) => (await stat(join(each.parentPath, each.name))).size);
  return (await Promise.all(sizes)).reduce((sum, size) => sum + size, 0);
}
