import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Packages installed for the tests. Their documents are read in place, so that none becomes part of this repository.
 * `fastify` is installed for its documents only: many questions of the tests are about them.
 */
const PACKAGES = fileURLToPath(new URL('../node_modules/', import.meta.url));

/** A folder of real documents: README files and docs of installed packages. */
export interface Corpus {
  /** Paths in the folder, such as `ws/README.md` or `fastify/docs/Guides/Testing.md`. */
  readonly documents: readonly string[];
}

/** Copies the documents of installed packages to a folder: more than 200, most of them English. */
export async function createCorpus(folder: string): Promise<Corpus> {
  const documents: string[] = [];
  const addDocument = async (path: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(join(PACKAGES, path), join(folder, path));
    documents.push(path);
  };
  for (const name of await listPackages()) {
    const files = await readdir(join(PACKAGES, name));
    const readme = files.find((file) => /^readme\.(?:md|markdown)$/i.test(file));
    if (readme !== undefined) await addDocument(`${name}/${readme}`);
    if (!files.includes('docs')) continue;
    for (const file of await readdir(join(PACKAGES, name, 'docs'), { recursive: true }))
      if (file.endsWith('.md')) await addDocument(`${name}/docs/${file.replaceAll('\\', '/')}`);
  }
  return { documents: documents.toSorted() };
}

async function listPackages(): Promise<readonly string[]> {
  const names: string[] = [];
  for (const entry of await readdir(PACKAGES, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
    if (!entry.name.startsWith('@')) names.push(entry.name);
    else for (const inner of await readdir(join(PACKAGES, entry.name))) names.push(`${entry.name}/${inner}`);
  }
  return names;
}
