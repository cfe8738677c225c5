import {
  INDEX_DOCUMENT_PASSAGES_MAX,
  INDEX_DOCUMENTS_MAX,
  INDEX_PROBLEMS_TOLD_MAX,
  INDEX_READ_AT_ONCE,
} from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IndexCollection } from '../../store/index-collections.ts';
import type { IndexDocument, IndexPassage } from '../../store/index-documents.ts';
import type { Store } from '../../store/store.ts';
import { PRIMARY_WORKSPACE } from '../keys/rules.ts';
import { listEntries } from './list-entries.ts';
import { passagesOf } from './passages.ts';
import { type IndexEntry, readEntry, type ReadEntry } from './read-entry.ts';
import { referenceUrl } from './reference-url.ts';
import type { ExtractText, RefreshProblem, RefreshReport, RefreshWatch } from './search-index.ts';
import { termsOf } from './terms.ts';

export interface RefreshNeeds {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly extract: ExtractText;
  readonly readPage?: ReadPage | undefined;
}

/** References that are asked for, or removed, at once. */
const PAGE = 100;

/**
 * Brings a collection to what its sources say. Each document is its own transaction, so whatever ends this leaves whole
 * documents, and the next one goes on from there; what has vanished goes last, when all was seen.
 */
export async function refreshCollection(
  { name, sources, workspace }: IndexCollection,
  { store, clock, extract, readPage }: RefreshNeeds,
  { signal, onProgress }: RefreshWatch,
): Promise<Omit<RefreshReport, 'vectors'>> {
  const known = await knownHashes(store, name);
  const left = new Set(known.keys());
  const passedOver = { hidden: 0, links: 0, otherKinds: 0, tooDeep: 0 };
  const problems: RefreshProblem[] = [];
  const counts = { added: 0, changed: 0, unchanged: 0, removed: 0, failed: 0 };
  let done = 0;

  const fail = (reference: string, reason: string): void => {
    counts.failed++;
    if (problems.length < INDEX_PROBLEMS_TOLD_MAX) problems.push({ reference, reason });
  };

  const keep = async (entry: IndexEntry, read: ReadEntry & { readonly type: 'read' }): Promise<void> => {
    const document = documentOf(name, entry, read, clock.now());
    const count = document.passages.length;
    if (count === 0) return fail(entry.reference, 'It has no words.');
    if (count > INDEX_DOCUMENT_PASSAGES_MAX) {
      const most = `${INDEX_DOCUMENT_PASSAGES_MAX} passages, about 400,000 words`;
      return fail(entry.reference, `It has more than ${most}, which are the most: split it.`);
    }
    if (!(await store.transaction(({ indexDocuments }) => indexDocuments.put(document))))
      throw new ServiceError('conflict', `The collection ${name} was removed meanwhile.`);
    left.delete(entry.reference);
    counts[known.has(entry.reference) ? 'changed' : 'added']++;
  };

  const take = async (entry: IndexEntry): Promise<void> => {
    const { reference } = entry;
    const needs = { extract, readPage, now: clock.now, workspace: workspace ?? PRIMARY_WORKSPACE, signal };
    const read = await readEntry(entry, known.get(reference), needs);
    if (read.type === 'read') await keep(entry, read);
    else if (read.type === 'unchanged') {
      left.delete(reference);
      counts.unchanged++;
    } else {
      if (read.type === 'unreached') left.delete(reference);
      fail(reference, read.reason);
    }
    done++;
    onProgress?.({ step: 'reading', done, reference });
  };

  const entries = bounded(listEntries(sources, passedOver), (reference) => {
    fail(reference, `A collection has at most ${INDEX_DOCUMENTS_MAX} documents: from here on they are left out.`);
  });
  const work = async (): Promise<void> => {
    for await (const entry of entries) {
      signal.throwIfAborted();
      await take(entry);
    }
  };
  // Nobody may go on writing when this has failed.
  const ends = await Promise.allSettled(Array.from({ length: INDEX_READ_AT_ONCE }, work));
  for (const end of ends) if (end.status === 'rejected') throw end.reason;
  signal.throwIfAborted();

  const vanished = [...left];
  for (let at = 0; at < vanished.length; at += PAGE) {
    const page = vanished.slice(at, at + PAGE);
    await store.transaction(({ indexDocuments }) => indexDocuments.remove(name, page));
    counts.removed += page.length;
  }
  await store.indexCollections.setRefreshed(name, clock.now());
  return { ...counts, problems, passedOver };
}

/** A reference that comes twice is read once. */
async function* bounded(
  entries: AsyncIterable<IndexEntry>,
  tooMany: (reference: string) => void,
): AsyncGenerator<IndexEntry> {
  const seen = new Set<string>();
  for await (const entry of entries) {
    if (seen.has(entry.reference)) continue;
    if (seen.size >= INDEX_DOCUMENTS_MAX) return tooMany(entry.reference);
    seen.add(entry.reference);
    yield entry;
  }
}

async function knownHashes(store: Store, collection: string): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  for (let after = ''; ;) {
    const page = await store.indexDocuments.hashes(collection, { after, limit: PAGE });
    for (const [reference, hash] of page) {
      known.set(reference, hash);
      after = reference;
    }
    if (page.size < PAGE) return known;
  }
}

function documentOf(
  collection: string,
  { reference, type }: IndexEntry,
  { hash, bytes, text, title, publishedAt, page }: ReadEntry & { readonly type: 'read' },
  at: number,
): IndexDocument {
  // A passage is found by what its document is called as well.
  const name = termsOf(type === 'file' ? `${title} ${reference.replace(/\.[^./]{1,10}$/, '')}` : title);
  return {
    collection,
    reference,
    url: page?.url ?? referenceUrl(collection, reference),
    host: page ? new URL(page.url).hostname : '',
    title,
    siteName: page?.siteName ?? collection,
    icon: page?.icon ?? '',
    publishedAt,
    hash,
    bytes,
    passages: passagesWithTerms(text, name),
    at,
  };
}

/** One more than there may be at most, where there are more. */
function passagesWithTerms(text: string, name: readonly string[]): readonly IndexPassage[] {
  const passages: IndexPassage[] = [];
  for (const passage of passagesOf(text)) {
    const terms = termsOf(passage);
    if (terms.length > 0) passages.push({ text: passage, terms: [...name, ...terms] });
    if (passages.length > INDEX_DOCUMENT_PASSAGES_MAX) break;
  }
  return passages;
}
