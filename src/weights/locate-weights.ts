import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../core/telemetry.ts';
import { listPartFiles } from '../core/split-model-file.ts';
import type { Weights } from '../core/weights.ts';
import {
  isUnchanged,
  readWeightsFileRecord,
  writeWeightsFileRecord,
  type WeightsFileRecord,
} from './weights-file-record.ts';
import { statIfExists } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import { describeSource, getWeightsFiles, listKnownFileNames } from './weights-files.ts';
import { getErrorCode } from '../lib/error-code.ts';

export interface LocateDeps {
  /** Parley's models folder: files in it are named after the weights' id. */
  readonly folder: string;
  /** The operator's read-only folders: files in them may also have the names that they have at their sources. */
  readonly extraFolders: readonly string[];
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * Returns the path of these weights on this machine, or undefined.
 *
 * Fast while size and time of the file match the record. A new or changed file is read once and compared with the
 * hashes of the sources. A file that matches none is used only if the catalogue lacks the hash of a source.
 */
export async function locateWeights(
  weights: Weights,
  { folder, extraFolders, log }: LocateDeps,
  signal?: AbortSignal,
): Promise<string | undefined> {
  for (const source of weights.sources) {
    if (source.type === 'file' && (await areFiles(listPartFiles(source.path)))) return source.path;
  }
  const files = getWeightsFiles(folder, weights.id);
  const record = await readWeightsFileRecord(files.record);
  const names = listKnownFileNames(weights);
  const candidatePaths = [files.file, ...extraFolders.flatMap((extra) => names.map((name) => join(extra, name)))];
  for (const path of candidatePaths) {
    const stats = await statIfExists(path);
    if (!stats?.isFile()) continue;
    if (record?.path === path && isUnchanged(record, stats)) return path;
    const sha256 = (await hashFile(path, { signal })).digest('hex');
    const identity = identifyContent(weights, sha256, record);
    if (!identity || (identity.verified === 'none' && !(await hasGgufMagic(path)))) {
      log.warn('weights file ignored: unexpected content', { path, sha256 });
      continue;
    }
    if (identity.verified === 'none') {
      log.warn('weights file used without verification: the catalogue lacks the hash of a source', {
        path,
        sha256,
      });
    }
    await saveRecord(files.record, { ...identity, path, sha256, sizeBytes: stats.size, mtimeMs: stats.mtimeMs }, log);
    return path;
  }
  return undefined;
}

const areFiles = async (paths: readonly string[]): Promise<boolean> =>
  (await Promise.all(paths.map(statIfExists))).every((stats) => stats?.isFile());

/** Returns the source whose hash matches, or undefined when the content belongs to another file. */
function identifyContent(
  weights: Weights,
  sha256: string,
  record: WeightsFileRecord | undefined,
): Pick<WeightsFileRecord, 'source' | 'verified'> | undefined {
  const source = weights.sources.find((one) => one.type !== 'file' && one.sha256 === sha256);
  if (source) return { source: describeSource(source), verified: 'catalogue' };
  if (record?.sha256 === sha256) return { source: record.source, verified: record.verified };
  const hasUnhashedSource = weights.sources.some((one) => one.type === 'hub' && one.sha256 === undefined);
  return hasUnhashedSource ? { source: 'found', verified: 'none' } : undefined;
}

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
 * Saves the record. When the folder is read-only (part of a container image), the file is read again at the next start.
 */
export async function saveRecord(path: string, record: WeightsFileRecord, log: Pick<Log, 'warn'>): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeWeightsFileRecord(path, record);
  } catch (thrown) {
    if (!['EROFS', 'EACCES', 'ENOENT'].includes(getErrorCode(thrown) ?? '')) throw thrown;
    log.warn('weights verification not recorded; it is repeated at every start', { path: record.path });
  }
}
