import { opendir } from 'node:fs/promises';
import { extname, join } from 'node:path';
import { INDEX_FOLDER_DEPTH_MAX } from '../../core/limits.ts';

export interface FoundFile {
  readonly path: string;
  /** From the folder, with `/` on every system. */
  readonly relative: string;
}

/** What a walk passed over, by why. */
export interface PassedOver {
  hidden: number;
  links: number;
  otherKinds: number;
  tooDeep: number;
}

/** Endings of files that are looked for in folders; a file that is named by itself may have any. */
const ENDINGS: ReadonlySet<string> = new Set(
  'md markdown txt text rst adoc org tex html htm xhtml pdf docx docm xlsx xlsm pptx epub csv tsv'.split(' '),
);

/**
 * The documents of a folder and of those in it, in the order of their names. Links are not followed, wherever they lead, and
 * what begins with a point is hidden.
 */
export async function* walkFolder(folder: string, passedOver: PassedOver): AsyncGenerator<FoundFile> {
  yield* walk(folder, '', 0, passedOver);
}

async function* walk(folder: string, prefix: string, depth: number, passedOver: PassedOver): AsyncGenerator<FoundFile> {
  const entries = [];
  for await (const entry of await opendir(folder)) entries.push(entry);
  for (const entry of entries.toSorted((one, other) => (one.name < other.name ? -1 : 1))) {
    const path = join(folder, entry.name);
    const relative = `${prefix}${entry.name}`;
    if (entry.name.startsWith('.')) passedOver.hidden++;
    else if (entry.isSymbolicLink()) passedOver.links++;
    else if (entry.isDirectory()) {
      if (depth < INDEX_FOLDER_DEPTH_MAX) yield* walk(path, `${relative}/`, depth + 1, passedOver);
      else passedOver.tooDeep++;
    } else if (entry.isFile() && ENDINGS.has(extname(entry.name).slice(1).toLowerCase())) yield { path, relative };
    else passedOver.otherKinds++;
  }
}
