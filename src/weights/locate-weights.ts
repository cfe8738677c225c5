import type { Stats } from 'node:fs';
import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../core/telemetry.ts';
import { listPartFiles } from '../core/split-model-file.ts';
import type { Weights } from '../core/weights.ts';
import { getErrorCode } from '../lib/error-code.ts';
import { statIfExists } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import { identifyContent } from './identify-content.ts';
import { hashSamples } from './sample-hash.ts';
import {
  isUnchanged,
  readWeightsFileRecord,
  writeWeightsFileRecord,
  type WeightsFileRecord,
} from './weights-file-record.ts';
import { getWeightsFiles, listKnownFileNames } from './weights-files.ts';
import type { ContentResults, RefusedWeights, WeightsStatus } from './weights-status.ts';

export interface LocateDeps {
  /** Parley's models folder: files in it are named after the weights' id. */
  readonly folder: string;
  /** The operator's read-only folders: files in them may also have the names that they have at their sources. */
  readonly extraFolders: readonly string[];
  readonly log: Pick<Log, 'info' | 'warn'>;
  readonly results: ContentResults;
}

/**
 * Finds these weights on this machine.
 *
 * Fast while size and time of the file match the record: the first call of a process compares sampled blocks, later ones
 * none. A new or changed file is read once and compared with the known hashes; with other content it is refused. A file
 * without any known hash is used as it is.
 */
export async function locateWeights(weights: Weights, deps: LocateDeps, signal?: AbortSignal): Promise<WeightsStatus> {
  for (const source of weights.sources) {
    if (source.type === 'file' && (await areFiles(listPartFiles(source.path))))
      return { state: 'present', path: source.path };
  }
  const names = listKnownFileNames(weights);
  const candidatePaths = [
    getWeightsFiles(deps.folder, weights.id).file,
    ...deps.extraFolders.flatMap((extra) => names.map((name) => join(extra, name))),
  ];
  let refused: RefusedWeights | undefined;
  for (const path of candidatePaths) {
    const stats = await statIfExists(path);
    if (!stats?.isFile()) continue;
    const status = await readStatus(weights, { path, stats }, deps, signal);
    if (status.state === 'present') return status;
    if (status.state === 'refused') refused ??= status;
  }
  return refused ?? { state: 'missing' };
}

interface Candidate {
  readonly path: string;
  readonly stats: Stats;
}

/** Describes the version of a file for `results`. Every write changes the second time, also one that restores the first. */
export const describeVersion = ({ sources }: Weights, { size, mtimeMs, ctimeMs, ino }: Stats): string =>
  JSON.stringify([size, mtimeMs, ctimeMs, ino, sources]);

const areFiles = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(statIfExists))).every((stats) => stats?.isFile());

async function readStatus(
  weights: Weights,
  candidate: Candidate,
  deps: LocateDeps,
  signal: AbortSignal | undefined,
): Promise<WeightsStatus> {
  const { path, stats } = candidate;
  const version = describeVersion(weights, stats);
  const recordPath = getWeightsFiles(deps.folder, weights.id).record;
  const record = await readWeightsFileRecord(recordPath);
  const known = deps.results.get(path, version);
  if (known && (known.state !== 'present' || !record?.isDamaged)) return known;
  const status = (await hasRecordedContent(record, candidate, deps.log))
    ? ({ state: 'present', path } as const)
    : await readContent(weights, candidate, { ...deps, record, recordPath, signal });
  deps.results.set(path, version, status);
  return status;
}

/** Compares a file with its record. A record of an earlier version has no samples. */
async function hasRecordedContent(
  record: WeightsFileRecord | undefined,
  { path, stats }: Candidate,
  log: LocateDeps['log'],
): Promise<boolean> {
  if (record?.path !== path || !isUnchanged(record, stats)) return false;
  if (record.samplesSha256 === undefined || (await hashSamples(path)) === record.samplesSha256) return true;
  log.warn('weights file changed without a change of its size and time', { path });
  return false;
}

interface ReadContentDeps extends LocateDeps {
  readonly record: WeightsFileRecord | undefined;
  readonly recordPath: string;
  readonly signal: AbortSignal | undefined;
}

/** Reads the whole file, compares it with the known hashes, and records what it is. */
async function readContent(
  weights: Weights,
  { path, stats }: Candidate,
  { record, recordPath, log, signal }: ReadContentDeps,
): Promise<WeightsStatus> {
  const sha256 = (await hashFile(path, { signal })).digest('hex');
  const identity = identifyContent(weights, sha256, record);
  if (!identity) {
    log.warn('weights file refused: its content matches no known hash', { path, sha256 });
    return createRefusal(path, sha256);
  }
  if (identity.verified === 'none') {
    if (!(await hasGgufMagic(path))) {
      log.warn('weights file refused: no GGUF file', { path, sha256 });
      return { state: 'refused', path, problem: 'it is no GGUF file' };
    }
    log.warn('weights file used without verification: the catalogue has no hash of it', { path, sha256 });
  }
  const samplesSha256 = await hashSamples(path);
  const verified = { ...identity, path, sha256, samplesSha256, sizeBytes: stats.size, mtimeMs: stats.mtimeMs };
  await saveRecord(recordPath, verified, log);
  return { state: 'present', path };
}

/** Creates the status of a file whose content matches no known hash. */
export const createRefusal = (path: string, sha256: string): RefusedWeights => ({
  state: 'refused',
  path,
  problem: `its content matches no known hash (sha256 ${sha256})`,
});

/** Tells whether the file begins with the four bytes `GGUF`. */
async function hasGgufMagic(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead).toString('latin1') === 'GGUF';
  } finally {
    await handle.close();
  }
}

/**
 * Saves the record. When the folder is read-only (part of a container image) or its disk full, the file is read again at
 * the next start.
 */
export async function saveRecord(path: string, record: WeightsFileRecord, log: Pick<Log, 'warn'>): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeWeightsFileRecord(path, record);
  } catch (thrown) {
    if (!['EROFS', 'EACCES', 'ENOENT', 'ENOSPC'].includes(getErrorCode(thrown) ?? '')) throw thrown;
    log.warn('weights verification not recorded; it is repeated at every start', { path: record.path });
  }
}
