import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { OutdatedDocument } from '../../store/index-documents.ts';
import type { Store } from '../../store/store.ts';
import { createStoredPassageTerms, getPathName, INDEX_FORMAT } from './index-passages.ts';
import { INDEX_TERM_CACHE_ENTRIES_MAX } from './limits.ts';
import type { TermCache } from './terms.ts';

/** Documents that are listed at once, and passages whose terms are replaced before the event loop gets control. */
const DOCUMENTS_PER_PAGE = 100;
const PASSAGES_PER_SLICE = 50;

export interface UpdateTermsOptions {
  readonly store: Pick<Store, 'indexDocuments' | 'transaction'>;
  /** Default: all collections. */
  readonly collection?: string;
  readonly signal: AbortSignal;
}

/**
 * Replaces search terms of earlier formats, by which questions do not find a document, with terms of its stored passages.
 * It needs no source: that may be gone. If it is interrupted, the next call starts with the document that it left.
 *
 * @returns the number of updated documents. @throws the signal's reason.
 */
export async function updateTerms({ store, collection, signal }: UpdateTermsOptions): Promise<number> {
  const filter = { termFormat: INDEX_FORMAT, collection };
  const cache: TermCache = new Map();
  let updated = 0;
  for (let after = 0; ;) {
    const page = await store.indexDocuments.listOutdated(filter, { after, limit: DOCUMENTS_PER_PAGE });
    for (const document of page) {
      after = document.id;
      if (cache.size > INDEX_TERM_CACHE_ENTRIES_MAX) cache.clear();
      if (await updateDocument(document, { store, cache, signal })) updated++;
    }
    if (page.length < DOCUMENTS_PER_PAGE) return updated;
  }
}

/** @returns false if the document was replaced or removed meanwhile. */
async function updateDocument(
  { id, title, reference, url }: OutdatedDocument,
  { store, cache, signal }: Pick<UpdateTermsOptions, 'store' | 'signal'> & { readonly cache: TermCache },
): Promise<boolean> {
  const path = url.startsWith('parley-index:') ? getPathName(reference) : '';
  const extract = createStoredPassageTerms({ title, path }, cache);
  const texts = await store.indexDocuments.listPassageTexts(id);
  for (let at = 0; at < texts.length; at += PASSAGES_PER_SLICE) {
    await yieldToEventLoop();
    signal.throwIfAborted();
    const terms = texts.slice(at, at + PASSAGES_PER_SLICE).map(extract);
    if (!(await store.transaction(({ indexDocuments }) => indexDocuments.replaceTerms(id, { at, terms }))))
      return false;
  }
  await store.indexDocuments.setTermFormat(id, INDEX_FORMAT);
  return true;
}
