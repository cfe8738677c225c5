import { copyFile, mkdir, readdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/** Packages that are installed for the tests of this repository; what they say of themselves stays where it is. */
const PACKAGES = fileURLToPath(new URL('../node_modules/', import.meta.url));

/** A folder of real documents: what installed packages say of themselves. */
export interface Corpus {
  /** Paths in the folder: `ws/README.md`, `fastify/docs/Guides/Testing.md`. */
  readonly documents: readonly string[];
}

/**
 * Copies what installed packages say of themselves to a folder, under their names: more than 200 documents, most of them
 * English. Made where it is used, so that none of them is part of this repository.
 */
export async function makeCorpus(folder: string): Promise<Corpus> {
  const documents: string[] = [];
  const take = async (path: string): Promise<void> => {
    await mkdir(dirname(join(folder, path)), { recursive: true });
    await copyFile(join(PACKAGES, path), join(folder, path));
    documents.push(path);
  };
  for (const name of await packages()) {
    const files = await readdir(join(PACKAGES, name));
    const readme = files.find((file) => /^readme\.(?:md|markdown)$/i.test(file));
    if (readme !== undefined) await take(`${name}/${readme}`);
    if (!files.includes('docs')) continue;
    for (const file of await readdir(join(PACKAGES, name, 'docs'), { recursive: true }))
      if (file.endsWith('.md')) await take(`${name}/docs/${file.replaceAll('\\', '/')}`);
  }
  return { documents: documents.toSorted() };
}

async function packages(): Promise<readonly string[]> {
  const names: string[] = [];
  for (const entry of await readdir(PACKAGES, { withFileTypes: true })) {
    if (!entry.isDirectory() || entry.name.startsWith('.')) continue;
    if (!entry.name.startsWith('@')) names.push(entry.name);
    else for (const inner of await readdir(join(PACKAGES, entry.name))) names.push(`${entry.name}/${inner}`);
  }
  return names;
}
