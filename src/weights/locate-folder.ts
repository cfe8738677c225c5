import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { FolderFile, Weights, WeightsFolder } from '../core/weights.ts';
import { findMissingFiles } from './fetch-folder.ts';
import { isUnchanged, readWeightsFileRecord, type WeightsFileRecord } from './weights-file-record.ts';
import { statIfExists } from './file-system.ts';
import { saveRecord, type LocateDeps } from './locate-weights.ts';
import { describeFolder, getWeightsFiles } from './weights-files.ts';
import type { RefusedWeights, WeightsStatus } from './weights-status.ts';

/** Returns all files of a weights folder: the downloaded and the converted ones. */
export const listFolderFiles = ({ files, conversion }: WeightsFolder): readonly FolderFile[] => [
  ...files,
  ...(conversion?.files ?? []),
];

/**
 * Finds this weights folder on this machine.
 *
 * Fast while the sizes and times of its files match the record. A new or changed folder is read once and refused unless
 * every file has the hash that the catalogue states.
 */
export async function locateFolder(
  { id }: Pick<Weights, 'id'>,
  weightsFolder: WeightsFolder,
  { folder, extraFolders, log, results }: LocateDeps,
  signal?: AbortSignal,
): Promise<WeightsStatus> {
  const ownFiles = getWeightsFiles(folder, id);
  const record = await readWeightsFileRecord(ownFiles.folderRecord);
  let refused: RefusedWeights | undefined;
  for (const path of [ownFiles.folder, ...extraFolders.map((extra) => getWeightsFiles(extra, id).folder)]) {
    const currentRecord = await createFolderRecord(path, weightsFolder);
    if (!currentRecord) continue;
    const isKnown = record?.path === path && record.sha256 === currentRecord.sha256;
    if (isKnown && isUnchanged(record, { size: currentRecord.sizeBytes, mtimeMs: currentRecord.mtimeMs }))
      return { state: 'present', path };
    const version = JSON.stringify(currentRecord);
    const earlier = results.get(path, version);
    if (earlier?.state === 'refused') {
      refused ??= earlier;
      continue;
    }
    const [mismatch] = await findMissingFiles(path, listFolderFiles(weightsFolder), signal);
    if (mismatch) {
      log.warn('weights folder refused: unexpected content', { path, file: mismatch.name });
      const status = createFolderRefusal(path, mismatch.name);
      results.set(path, version, status);
      refused ??= status;
      continue;
    }
    await saveRecord(ownFiles.folderRecord, currentRecord, log);
    return { state: 'present', path };
  }
  return refused ?? { state: 'missing' };
}

/** Creates the status of a folder of which a file has other content than the catalogue states. */
export const createFolderRefusal = (path: string, file: string): RefusedWeights => ({
  state: 'refused',
  path,
  problem: `the content of ${file} differs from the hash in the catalogue`,
});

/** Summarizes the files of the folder as one record; undefined when a file is missing. */
async function createFolderRecord(path: string, folder: WeightsFolder): Promise<WeightsFileRecord | undefined> {
  const files = listFolderFiles(folder);
  const stats = await Promise.all(files.map(({ name }) => statIfExists(join(path, name))));
  let [sizeBytes, mtimeMs] = [0, 0];
  for (const each of stats) {
    if (!each?.isFile()) return undefined;
    sizeBytes += each.size;
    mtimeMs = Math.max(mtimeMs, each.mtimeMs);
  }
  return {
    path,
    sizeBytes,
    mtimeMs,
    sha256: hashFileList(files),
    source: describeFolder(folder),
    verified: 'catalogue',
  };
}

/** Hashes the list of file names and hashes, in the format of `sha256sum`. */
function hashFileList(files: readonly FolderFile[]): string {
  const lines = files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).toSorted();
  return createHash('sha256').update(lines.join('')).digest('hex');
}
