import { INDEX_DOCUMENT_PASSAGES_MAX, INDEX_PASSAGE_CHARS_MAX, PAGE_TEXT_CHARS_MAX } from '../../core/limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { present } from '../../lib/present.ts';
import type { Store } from '../../store/store.ts';

/**
 * Pages as the local index has them, so that what was indexed can be read without a network; all others are read by `readPage`.
 *
 * @throws as `readPage`; ServiceError `internal` where the database fails.
 */
export const createReadDocument =
  ({ store, readPage }: { readonly store: Pick<Store, 'indexSearch'>; readonly readPage: ReadPage }): ReadPage =>
  async (page, signal) => {
    const { url, workspace, sites, blockedSites } = page;
    const scope = { workspace, of: 'plain', sites, blockedSites } as const;
    const passages = await store.indexSearch.readDocument(url, scope, INDEX_DOCUMENT_PASSAGES_MAX);
    signal.throwIfAborted();
    const [first] = passages;
    if (!first) return await readPage(page, signal);
    const { title, siteName, icon, publishedAt } = first;
    const passage = joined(passages.map(({ text }) => text)).slice(0, PAGE_TEXT_CHARS_MAX);
    return { title, url, siteName, icon, passage: passage.toWellFormed(), ...present({ publishedAt }) };
  };

/** A passage may begin with the end of the one before: that is said once. */
function joined(passages: readonly string[]): string {
  let text = '';
  for (const passage of passages) {
    const common = overlap(text, passage);
    text += `${text === '' || common > 0 ? '' : '\n\n'}${passage.slice(common)}`;
    if (text.length > PAGE_TEXT_CHARS_MAX) break;
  }
  return text;
}

/** Characters that one ends with and the other begins with: whole lines or sentences, so a chance of a few letters is none. */
function overlap(before: string, after: string): number {
  for (let length = Math.min(INDEX_PASSAGE_CHARS_MAX / 4, after.length - 1); length >= OVERLAP_MIN; length--)
    if (before.endsWith(after.slice(0, length)) && !/\w/.test(after.charAt(length))) return length;
  return 0;
}

const OVERLAP_MIN = 8;
