import { mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import type { Log } from '../core/telemetry.ts';
import type { Weights } from '../core/weights.ts';
import type { FileRecord } from './file-record.ts';
import { isUnchanged, readFileRecord, writeFileRecord } from './file-record.ts';
import { errorCode, statOf } from './file-system.ts';
import { hashFile } from './hash-file.ts';
import { describeSource, filesOf, knownFileNames } from './weights-files.ts';

export interface LocateNeeds {
  /** Ours: files here have the weights' own name. */
  readonly folder: string;
  /** The operator's, read only: files here may also have the names of their sources. */
  readonly extraFolders: readonly string[];
  readonly log: Pick<Log, 'info' | 'warn'>;
}

/**
 * The path of these weights on this machine, or undefined.
 *
 * Cheap where the file is as it was last time. A file that is new or has changed is read once and compared with the
 * hashes of its sources; one that fits none of them is used only if some source's hash is not known.
 */
export async function locateWeights(
  weights: Weights,
  { folder, extraFolders, log }: LocateNeeds,
  signal?: AbortSignal,
): Promise<string | undefined> {
  for (const source of weights.sources) {
    if (source.type === 'file' && (await statOf(source.path))?.isFile()) return source.path;
  }
  const files = filesOf(folder, weights.id);
  const record = await readFileRecord(files.record);
  const names = knownFileNames(weights);
  const places = [files.file, ...extraFolders.flatMap((extra) => names.map((name) => join(extra, name)))];
  for (const path of places) {
    const stats = await statOf(path);
    if (!stats?.isFile()) continue;
    if (record?.path === path && isUnchanged(record, stats)) return path;
    const sha256 = (await hashFile(path, { signal })).digest('hex');
    const known = judge(weights, sha256, record);
    if (!known || (known.verified === 'none' && !(await hasModelMark(path)))) {
      log.warn('a file with the name of known weights has other content and is not used', { path, sha256 });
      continue;
    }
    if (known.verified === 'none') {
      log.warn('weights found that could not be verified: the hash of one of their sources is not known', {
        path,
        sha256,
      });
    }
    await remember(files.record, { ...known, path, sha256, sizeBytes: stats.size, mtimeMs: stats.mtimeMs }, log);
    return path;
  }
  return undefined;
}

/** Undefined: this content belongs to something else. */
function judge(
  weights: Weights,
  sha256: string,
  record: FileRecord | undefined,
): Pick<FileRecord, 'source' | 'verified'> | undefined {
  const source = weights.sources.find((one) => one.type !== 'file' && one.sha256 === sha256);
  if (source) return { source: describeSource(source), verified: 'catalogue' };
  if (record?.sha256 === sha256) return { source: record.source, verified: record.verified };
  const isOpen = weights.sources.some((one) => one.type === 'hub' && one.sha256 === undefined);
  return isOpen ? { source: 'found', verified: 'none' } : undefined;
}

/** The first four bytes of a model file. */
async function hasModelMark(path: string): Promise<boolean> {
  const handle = await open(path, 'r');
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(4), 0, 4, 0);
    return buffer.subarray(0, bytesRead).toString('latin1') === 'GGUF';
  } finally {
    await handle.close();
  }
}

/** Where our folder cannot be written (baked into an image), the file is simply read again at the next start. */
export async function remember(path: string, record: FileRecord, log: Pick<Log, 'warn'>): Promise<void> {
  try {
    await mkdir(dirname(path), { recursive: true });
    await writeFileRecord(path, record);
  } catch (thrown) {
    if (!['EROFS', 'EACCES', 'ENOENT'].includes(errorCode(thrown) ?? '')) throw thrown;
    log.warn('the check of these weights could not be recorded and is repeated at every start', { path: record.path });
  }
}
