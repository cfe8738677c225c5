import { chmod, copyFile, mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { ServiceError } from '../../../core/error.ts';
import type { Clock } from '../../../lib/clock.ts';
import { statIfExists } from '../../../weights/file-system.ts';
import { hashFile } from '../../../weights/hash-file.ts';
import { createPackageIndex } from '../../../weights/package-index.ts';
import { createProgressMeter, type ReportProgress } from '../../../weights/progress-meter.ts';
import { normalizePackageName } from '../../../weights/simple-index.ts';
import { PULL_LIMITS, type Fetch } from '../../../weights/pull-limits.ts';
import type { FetchWheel } from '../../../weights/wheel.ts';
import type { DistributionPackage, PyodideDistribution } from './pyodide-distribution.ts';
import type { WheelSelection } from './select-wheels.ts';

export interface AddWheelsOptions {
  /** Folder of wheels that programs may import; created when missing. */
  readonly folder: string;
  readonly distribution: PyodideDistribution;
  /** Folder on this machine, or URL of a folder, with the wheels of the distribution. Default: its own server. */
  readonly from?: string | undefined;
  /** Chooses how wheels of the package index are downloaded. */
  readonly openIndex: () => Promise<FetchWheel>;
  readonly fetch: Fetch;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

/** A wheel in the folder. */
export interface AddedWheel {
  readonly fileName: string;
  readonly sha256: string;
  /** The wheel was there before. */
  readonly isOld: boolean;
}

/**
 * Adds wheels to the folder, each only after its hash is verified. Wheels that are there already are kept, so the
 * command can be repeated after an interruption. Other versions of an added package are deleted.
 * @throws ServiceError `upstream-failed` when a wheel cannot be had or has another hash; the signal's reason.
 */
export async function addWheels(
  { pinned, indexed }: WheelSelection,
  options: AddWheelsOptions,
): Promise<readonly AddedWheel[]> {
  const { folder, clock, report, signal, openIndex } = options;
  await mkdir(folder, { recursive: true });
  // Unfinished files are on the same file system, so that a finished one is moved in one step.
  const work = await mkdtemp(join(folder, '.adding-'));
  const parts = pinned.length + indexed.length;
  const meter = createProgressMeter({ weights: 'wheels', source: 'packages', parts, clock, report });
  const added: AddedWheel[] = [];
  let doneBytes = 0;
  const onBytes = (bytes: number): void => {
    doneBytes += bytes;
    meter.update({ doneBytes, donePart: added.length });
  };
  try {
    for (const wheel of pinned) added.push(await addPinned(wheel, { ...options, work, onBytes }));
    const fetchWheel = indexed.length > 0 ? await openIndex() : undefined;
    for (const wanted of indexed) {
      const path = await fetchWheel?.(wanted, await mkdtemp(join(work, 'index-')), signal);
      if (path === undefined) continue;
      const sha256 = await computeHash(path, signal);
      await publish(path, folder);
      added.push({ fileName: basename(path), sha256, isOld: false });
      onBytes(0);
    }
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  return added;
}

interface AddPinnedOptions extends AddWheelsOptions {
  /** Folder for unfinished files. */
  readonly work: string;
  readonly onBytes: (bytes: number) => void;
}

async function addPinned(wheel: DistributionPackage, options: AddPinnedOptions): Promise<AddedWheel> {
  const { fileName, sha256 } = wheel;
  const { folder, work, signal, distribution, from = distribution.url } = options;
  const path = join(folder, fileName);
  if ((await statIfExists(path)) && (await computeHash(path, signal)) === sha256) {
    await removeOtherVersions(fileName, folder);
    return { fileName, sha256, isOld: true };
  }
  const target = join(work, fileName);
  if (/^https?:\/\//.test(from)) await downloadPinned(wheel, from, { ...options, target });
  else if (await statIfExists(join(from, fileName))) await copyFile(join(from, fileName), target);
  else throw new ServiceError('not-found', `The folder ${from} has no file ${fileName}.`);
  const found = await computeHash(target, signal);
  if (found !== sha256)
    throw new ServiceError(
      'upstream-failed',
      `${fileName} was not added: its SHA-256 is ${found}, but Pyodide ${distribution.version} states ${sha256}.`,
    );
  await publish(target, folder);
  return { fileName, sha256, isOld: false };
}

/** Moves a finished wheel into the folder, in place of other versions of its package. The sandbox may read it as another user. */
async function publish(file: string, folder: string): Promise<void> {
  const fileName = basename(file);
  await chmod(file, 0o644);
  await rename(file, join(folder, fileName));
  await removeOtherVersions(fileName, folder);
}

async function removeOtherVersions(fileName: string, folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name !== fileName && name.endsWith('.whl') && getPackage(name) === getPackage(fileName))
      await rm(join(folder, name));
}

const getPackage = (fileName: string): string => normalizePackageName(fileName.split('-')[0] ?? '');

async function downloadPinned(
  { fileName }: DistributionPackage,
  from: string,
  { target, distribution, fetch, signal, onBytes }: AddPinnedOptions & { readonly target: string },
): Promise<void> {
  const server = createPackageIndex({ indexUrl: from, fetch, limits: PULL_LIMITS });
  try {
    await server.download(encodeURIComponent(fileName), { target, signal, onBytes });
  } catch (error) {
    signal.throwIfAborted();
    const { message } = ServiceError.from(error);
    throw new ServiceError(
      'upstream-failed',
      `Cannot download ${fileName}: ${message} Without a connection, copy the wheels of Pyodide ${distribution.version} that --dry-run lists into a folder, and pass --from FOLDER.`,
      { cause: error },
    );
  }
}

const computeHash = async (path: string, signal: AbortSignal): Promise<string> =>
  (await hashFile(path, { signal })).digest('hex');
