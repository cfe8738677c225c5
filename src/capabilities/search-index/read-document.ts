import { PAGE_TEXT_CHARS_MAX } from '../../core/limits.ts';
import { INDEX_DOCUMENT_PASSAGES_MAX, INDEX_PASSAGE_CHARS_MAX } from './limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { omitNullish } from '../../lib/omit-nullish.ts';
import type { Store } from '../../store/store.ts';

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
    const passage = joinPassages(passages.map(({ text }) => text)).slice(0, PAGE_TEXT_CHARS_MAX);
    return { title, url, siteName, icon, passage: passage.toWellFormed(), ...omitNullish({ publishedAt }) };
  };

/** Joins passages and drops the overlap of consecutive ones. */
function joinPassages(passages: readonly string[]): string {
  let text = '';
  for (const passage of passages) {
    const overlap = measureOverlap(text, passage);
    text += `${text === '' || overlap > 0 ? '' : '\n\n'}${passage.slice(overlap)}`;
    if (text.length > PAGE_TEXT_CHARS_MAX) break;
  }
  return text;
}

/** Counts the characters at the end of one text that start the other. A match of a few letters is ignored as chance. */
function measureOverlap(before: string, after: string): number {
  for (let length = Math.min(INDEX_PASSAGE_CHARS_MAX / 4, after.length - 1); length >= OVERLAP_CHARS_MIN; length--)
    if (before.endsWith(after.slice(0, length)) && !/\w/.test(after.charAt(length))) return length;
  return 0;
}

const OVERLAP_CHARS_MIN = 8;
