import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { FolderFile, Weights, WeightsFolder } from '../core/weights.ts';
import { missingFiles } from './fetch-folder.ts';
import type { FileRecord } from './file-record.ts';
import { readFileRecord } from './file-record.ts';
import { statOf } from './file-system.ts';
import type { LocateNeeds } from './locate.ts';
import { remember } from './locate.ts';
import { describeFolder, filesOf } from './weights-files.ts';

/** All files of a folder of weights, as they come and as they are made. */
export const allFiles = ({ files, conversion }: WeightsFolder): readonly FolderFile[] => [
  ...files,
  ...(conversion?.files ?? []),
];

/**
 * The path of this folder of weights on this machine, or undefined.
 *
 * Cheap where its files are as they were last time. A folder that is new or has changed is read once; it is used only if
 * each file has the content that the catalogue says.
 */
export async function locateFolder(
  { id }: Pick<Weights, 'id'>,
  weightsFolder: WeightsFolder,
  { folder, extraFolders, log }: LocateNeeds,
  signal?: AbortSignal,
): Promise<string | undefined> {
  const own = filesOf(folder, id);
  const record = await readFileRecord(own.folderRecord);
  for (const path of [own.folder, ...extraFolders.map((extra) => filesOf(extra, id).folder)]) {
    const found = await recordOf(path, weightsFolder);
    if (!found) continue;
    const isKnown = record?.path === path && record.sha256 === found.sha256;
    if (isKnown && record.sizeBytes === found.sizeBytes && record.mtimeMs === found.mtimeMs) return path;
    const [wrong] = await missingFiles(path, allFiles(weightsFolder), signal);
    if (wrong) {
      log.warn('a folder with the name of known weights has other content and is not used', { path, file: wrong.name });
      continue;
    }
    await remember(own.folderRecord, found, log);
    return path;
  }
  return undefined;
}

/** What a look at the files tells, taken together as if they were one; undefined where one of them is missing. */
async function recordOf(path: string, folder: WeightsFolder): Promise<FileRecord | undefined> {
  const files = allFiles(folder);
  const stats = await Promise.all(files.map(({ name }) => statOf(join(path, name))));
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
    sha256: hashOfFolder(files),
    source: describeFolder(folder),
    verified: 'catalogue',
  };
}

/** Of the list of names and hashes, as `sha256sum` writes it. */
function hashOfFolder(files: readonly FolderFile[]): string {
  const lines = files.map(({ name, sha256 }) => `${sha256}  ${name}\n`).toSorted();
  return createHash('sha256').update(lines.join('')).digest('hex');
}
