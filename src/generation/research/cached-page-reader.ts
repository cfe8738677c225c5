import { RESEARCH_PAGE_CACHE_ENTRIES_MAX } from './limits.ts';
import type { ReadPage, Source } from '../../core/server-tools.ts';
import { removeFragment } from '../server-tools/source-list.ts';

/** Wraps `readPage` with an LRU cache of RESEARCH_PAGE_CACHE_ENTRIES_MAX pages. Failures are not cached. */
export function createCachedPageReader(readPage: ReadPage): ReadPage {
  const pages = new Map<string, Omit<Source, 'index'>>();
  return async (request, signal) => {
    const key = removeFragment(request.url);
    const page = pages.get(key) ?? (await readPage(request, signal));
    // Map order is order of last use.
    pages.delete(key);
    pages.set(key, page);
    for (const oldest of pages.keys()) {
      if (pages.size <= RESEARCH_PAGE_CACHE_ENTRIES_MAX) break;
      pages.delete(oldest);
    }
    return page;
  };
}
