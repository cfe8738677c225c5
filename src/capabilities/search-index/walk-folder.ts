import { opendir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { INDEX_FOLDER_DEPTH_MAX } from './limits.ts';

export interface WalkedFile {
  readonly path: string;
  /** Path relative to the folder, with `/` on every system. */
  readonly relativePath: string;
}

/** Entries that a walk skipped, by reason. */
export interface SkippedCounts {
  hidden: number;
  links: number;
  otherKinds: number;
  tooDeep: number;
}

/** Extensions of files to index in folders; a file that is named directly may have any. */
const DOCUMENT_EXTENSIONS: ReadonlySet<string> = new Set(
  'md markdown txt text rst adoc org tex html htm xhtml pdf docx docm xlsx xlsm pptx epub csv tsv'.split(' '),
);

/**
 * Yields the documents of a folder and its subfolders in order of their names. Symbolic links are not followed, and
 * names that start with a point are skipped.
 */
export async function* walkFolder(folder: string, skipped: SkippedCounts): AsyncGenerator<WalkedFile> {
  yield* walk(folder, '', 0, skipped);
}

async function* walk(
  folder: string,
  prefix: string,
  depth: number,
  skipped: SkippedCounts,
): AsyncGenerator<WalkedFile> {
  const entries = [];
  for await (const entry of await opendir(folder)) entries.push(entry);
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    const relative = `${prefix}${entry.name}`;
    if (entry.name.startsWith('.')) skipped.hidden++;
    else if (entry.isSymbolicLink()) skipped.links++;
    else if (entry.isDirectory()) {
      if (depth < INDEX_FOLDER_DEPTH_MAX) yield* walk(path, `${relative}/`, depth + 1, skipped);
      else skipped.tooDeep++;
    } else if (entry.isFile() && DOCUMENT_EXTENSIONS.has(extname(entry.name).slice(1).toLowerCase()))
      yield { path, relativePath: relative };
    else skipped.otherKinds++;
  }
}
