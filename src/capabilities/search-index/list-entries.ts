import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import type { IndexSource } from '../../store/index-collections.ts';
import type { IndexEntry } from './read-entry.ts';
import { readUrlFile } from './sources.ts';
import { type SkippedCounts, walkFolder } from './walk-folder.ts';

/**
 * Lists the documents of the sources. Files of a single folder are referenced by their path within it; with several
 * sources, the folder's name comes first.
 *
 * @throws ServiceError `invalid-request` if a source is missing, so that an unmounted disk does not empty a collection.
 */
export async function* listEntries(
  sources: readonly IndexSource[],
  skipped: SkippedCounts,
): AsyncGenerator<IndexEntry> {
  for (const source of sources) {
    if (source.type === 'url') {
      yield { type: 'url', reference: source.url };
      continue;
    }
    const { path } = source;
    const stats = await stat(path).catch((cause: unknown) => {
      throw sourceMissingError(path, cause);
    });
    if (source.type === 'url-file') {
      const urls = await readUrlFile(path);
      if (!urls) throw new ServiceError('invalid-request', `${path} no longer contains only URLs.`);
      for (const reference of urls) yield { type: 'url', reference };
    } else if (source.type === 'file') {
      yield { type: 'file', reference: basename(path), path };
    } else {
      if (!stats.isDirectory()) throw sourceMissingError(path);
      const prefix = sources.length === 1 ? '' : `${basename(path)}/`;
      for await (const file of walkFolder(path, skipped))
        yield { type: 'file', reference: `${prefix}${file.relativePath}`, path: file.path };
    }
  }
}

const sourceMissingError = (path: string, cause?: unknown): ServiceError =>
  new ServiceError('invalid-request', `${path} no longer exists. Nothing was removed from the index.`, { cause });
