import { RESEARCH_REMEMBERED_PAGES_MAX } from '../../core/limits.ts';
import type { ReadPage, Source } from '../../core/server-tools.ts';
import { pageOf } from '../server-tools/source-list.ts';

/** Reads a page that several queries find once, as long as it is among the last ones; what fails is tried again. */
export function createRememberedPages(readPage: ReadPage): ReadPage {
  const pages = new Map<string, Omit<Source, 'index'>>();
  return async (request, signal) => {
    const key = pageOf(request.url);
    const page = pages.get(key) ?? (await readPage(request, signal));
    // The order of the map is that of their last use.
    pages.delete(key);
    pages.set(key, page);
    for (const oldest of pages.keys()) {
      if (pages.size <= RESEARCH_REMEMBERED_PAGES_MAX) break;
      pages.delete(oldest);
    }
    return page;
  };
}
