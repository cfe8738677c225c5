import { LRUCache } from 'lru-cache';
import { RESEARCH_PAGE_CACHE_ENTRIES_MAX } from './limits.ts';
import type { ReadPage, Source } from '../../../core/server-tools.ts';
import { removeFragment } from '../../../generation/server-tools/source-list.ts';

/** Wraps `readPage` with an LRU cache of RESEARCH_PAGE_CACHE_ENTRIES_MAX pages. Failures are not cached. */
export function createCachedPageReader(readPage: ReadPage): ReadPage {
  const pages = new LRUCache<string, Omit<Source, 'index'>>({ max: RESEARCH_PAGE_CACHE_ENTRIES_MAX });
  return async (request, signal) => {
    const key = removeFragment(request.url);
    const page = pages.get(key) ?? (await readPage(request, signal));
    pages.set(key, page);
    return page;
  };
}
