import { PAGE_TEXT_CHARS_MAX } from '../../core/limits.ts';
import { INDEX_DOCUMENT_PASSAGES_MAX } from './limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { Store } from '../../store/store.ts';
import { joinPassages } from './join-passages.ts';

/**
 * Reads pages from the local index, so that indexed documents need no network; all others are read by `readPage`.
 *
 * @throws as `readPage`; ServiceError `internal` if the database fails.
 */
export const createReadDocument =
  ({ store, readPage }: { readonly store: Pick<Store, 'indexSearch'>; readonly readPage: ReadPage }): ReadPage =>
  async (page, signal) => {
    const { url, tenant, sites, blockedSites } = page;
    const scope = { tenant, collections: 'plain', sites, blockedSites } as const;
    const passages = await store.indexSearch.readDocument(url, scope, INDEX_DOCUMENT_PASSAGES_MAX);
    signal.throwIfAborted();
    const [first] = passages;
    if (!first) return await readPage(page, signal);
    const { title, siteName, icon, publishedAt } = first;
    const passage = joinPassages(passages, PAGE_TEXT_CHARS_MAX);
    return { title, url, siteName, icon, passage, ...omitNullish({ publishedAt }) };
  };
