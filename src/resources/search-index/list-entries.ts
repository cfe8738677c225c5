import { stat } from 'node:fs/promises';
import { basename } from 'node:path';
import { ServiceError } from '../../core/error.ts';
import type { IndexSource } from '../../store/index-collections.ts';
import type { IndexEntry } from './read-entry.ts';
import { urlsIn } from './sources.ts';
import { type PassedOver, walkFolder } from './walk-folder.ts';

/**
 * What there is to read of the sources. A folder that is alone gives its files the paths within it; of several, each path
 * begins with its folder's name.
 *
 * @throws ServiceError `invalid-request` where a source is not there: a disk that is away empties no collection.
 */
export async function* listEntries(
  sources: readonly IndexSource[],
  passedOver: PassedOver,
): AsyncGenerator<IndexEntry> {
  for (const source of sources) {
    if (source.type === 'url') {
      yield { type: 'url', reference: source.url };
      continue;
    }
    const { path } = source;
    const stats = await stat(path).catch((cause: unknown) => {
      throw gone(path, cause);
    });
    if (source.type === 'url-file') {
      const urls = await urlsIn(path);
      if (!urls) throw new ServiceError('invalid-request', `${path} does not hold addresses alone any more.`);
      for (const reference of urls) yield { type: 'url', reference };
    } else if (source.type === 'file') {
      yield { type: 'file', reference: basename(path), path };
    } else {
      if (!stats.isDirectory()) throw gone(path);
      const prefix = sources.length === 1 ? '' : `${basename(path)}/`;
      for await (const file of walkFolder(path, passedOver))
        yield { type: 'file', reference: `${prefix}${file.relative}`, path: file.path };
    }
  }
}

const gone = (path: string, cause?: unknown): ServiceError =>
  new ServiceError('invalid-request', `${path} is not there any more: nothing was removed.`, { cause });
