import { readdir } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { listFolder, statIfExists } from './file-system.ts';
import type { HubIndex, Repository, RepositoryFile } from './hub-index.ts';

/**
 * Adds the repositories in folders to an index, for machines without the hub. A folder has them as `owner/name/FILE.gguf`,
 * as downloads of other programs are stored. A hub that answers decides alone; the folders are read when it cannot be
 * reached.
 */
export function addFolderIndex(hub: HubIndex, folders: readonly string[]): HubIndex {
  const withFallback = async <T>(fromHub: () => Promise<T>, fromFolders: () => Promise<T | undefined>): Promise<T> => {
    try {
      return await fromHub();
    } catch (thrown) {
      if (!(thrown instanceof ServiceError) || thrown.kind !== 'upstream-failed') throw thrown;
      const found = await fromFolders();
      if (found !== undefined) return found;
      throw thrown;
    }
  };
  return {
    readRepository: (name, revision) =>
      withFallback(
        () => hub.readRepository(name, revision),
        () => readFirst(folders, name),
      ),
    search: (words) =>
      withFallback(
        () => hub.search(words),
        async () => {
          const names = (await Promise.all(folders.map(listRepositories))).flat();
          const wanted = words.toLowerCase().split(/\s+/);
          const found = names.filter((name) => wanted.every((word) => name.toLowerCase().includes(word)));
          return found.length > 0 ? [...new Set(found)].map((name) => ({ name })) : undefined;
        },
      ),
  };
}

async function readFirst(folders: readonly string[], name: string): Promise<Repository | undefined> {
  for (const folder of folders) {
    const files = await listModelFiles(join(folder, name));
    if (files.length > 0) return { name, revision: 'main', files };
  }
  return undefined;
}

async function listModelFiles(folder: string): Promise<readonly RepositoryFile[]> {
  if (!(await statIfExists(folder))?.isDirectory()) return [];
  const names = (await readdir(folder, { recursive: true })).filter((name) => /\.gguf$/i.test(name)).toSorted();
  const stats = await Promise.all(names.map((name) => statIfExists(join(folder, name))));
  return names.flatMap((name, at) =>
    stats[at]?.isFile() ? [{ path: relative('', name).split(sep).join('/'), sizeBytes: stats[at].size }] : [],
  );
}

async function listRepositories(folder: string): Promise<readonly string[]> {
  const repositories: string[] = [];
  for (const owner of (await listFolder(folder)).toSorted()) {
    if (!(await statIfExists(join(folder, owner)))?.isDirectory()) continue;
    for (const name of (await listFolder(join(folder, owner))).toSorted())
      if ((await listModelFiles(join(folder, owner, name))).length > 0) repositories.push(`${owner}/${name}`);
  }
  return repositories;
}
