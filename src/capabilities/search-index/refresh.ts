import { DEFAULT_REGION } from '../../core/region.ts';
import {
  INDEX_DOCUMENT_PASSAGES_MAX,
  INDEX_DOCUMENTS_MAX,
  INDEX_PROBLEMS_LISTED_MAX,
  INDEX_READ_CONCURRENCY,
  INDEX_TERM_CACHE_ENTRIES_MAX,
} from './limits.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import type { Clock } from '../../lib/clock.ts';
import type { IndexCollection } from '../../store/index-collections.ts';
import type { IndexDocument } from '../../store/index-documents.ts';
import type { Store } from '../../store/store.ts';
import { PRIMARY_WORKSPACE } from '../../resources/keys/rules.ts';
import { createDocumentBatch } from './document-batch.ts';
import { listEntries } from './list-entries.ts';
import { createIndexPassages, getPathName, INDEX_FORMAT } from './index-passages.ts';
import { type IndexEntry, readEntry, type ReadEntryResult } from './read-entry.ts';
import type { TermCache } from './terms.ts';
import type { DocumentExtractor } from '../../documents/document-extractor.ts';
import type { RefreshProblem, RefreshReport, RefreshOptions } from './search-index.ts';

export interface RefreshDeps {
  readonly store: Store;
  readonly clock: Pick<Clock, 'now'>;
  readonly extract: DocumentExtractor;
  readonly readPage?: ReadPage | undefined;
}

/** References that are read or removed per query. */
const REFERENCES_PER_PAGE = 100;

/**
 * Updates a collection from its sources. A transaction stores some complete documents, so that an interrupted refresh
 * leaves no half one and the next one continues. Vanished documents are removed last, when all sources were
 * read.
 */
export async function refreshCollection(
  { name, sources, region, workspace }: IndexCollection,
  { store, clock, extract, readPage }: RefreshDeps,
  { signal, onProgress }: RefreshOptions,
): Promise<Omit<RefreshReport, 'vectors'>> {
  const hashes = await readKnownHashes(store, name);
  const unseen = new Set(hashes.keys());
  const skipped = { hidden: 0, links: 0, otherKinds: 0, tooDeep: 0 };
  const problems: RefreshProblem[] = [];
  const counts = { added: 0, changed: 0, unchanged: 0, removed: 0, failed: 0 };
  const batch = createDocumentBatch({ store, clock });
  const cache: TermCache = new Map();
  let done = 0;

  const fail = (reference: string, reason: string): void => {
    counts.failed++;
    if (problems.length < INDEX_PROBLEMS_LISTED_MAX) problems.push({ reference, reason });
  };

  const saveDocument = async (
    entry: IndexEntry,
    content: ReadEntryResult & { readonly type: 'read' },
  ): Promise<void> => {
    if (cache.size > INDEX_TERM_CACHE_ENTRIES_MAX) cache.clear();
    const document = toDocument(name, entry, content, { indexedAt: clock.now(), cache });
    const count = document.passages.length;
    if (count === 0) return fail(entry.reference, 'The document has no words.');
    if (count > INDEX_DOCUMENT_PASSAGES_MAX) {
      const most = `${INDEX_DOCUMENT_PASSAGES_MAX} passages, about 400,000 words`;
      return fail(entry.reference, `The document has more than ${most}. Split it.`);
    }
    await batch.add(document);
    unseen.delete(entry.reference);
    counts[hashes.has(entry.reference) ? 'changed' : 'added']++;
  };

  const processEntry = async (entry: IndexEntry): Promise<void> => {
    const { reference } = entry;
    const tenant = { region: region ?? DEFAULT_REGION, workspace: workspace ?? PRIMARY_WORKSPACE };
    const readOptions = { extract, readPage, now: clock.now, tenant, signal };
    const result = await readEntry(entry, hashes.get(reference), readOptions);
    if (result.type === 'read') await saveDocument(entry, result);
    else if (result.type === 'unchanged') {
      unseen.delete(reference);
      counts.unchanged++;
    } else {
      if (result.type === 'unavailable') unseen.delete(reference);
      fail(reference, result.reason);
    }
    done++;
    onProgress?.({ step: 'reading', done, reference });
  };

  const entries = limitEntries(listEntries(sources, skipped), (reference) => {
    fail(
      reference,
      `A collection may have at most ${INDEX_DOCUMENTS_MAX} documents; this one and all later ones are not indexed.`,
    );
  });
  const worker = async (): Promise<void> => {
    for await (const entry of entries) {
      signal.throwIfAborted();
      await processEntry(entry);
    }
  };
  // Wait for all workers, so that none continues to write after a failure.
  const outcomes = await Promise.allSettled(Array.from({ length: INDEX_READ_CONCURRENCY }, worker));
  await batch.flush();
  for (const end of outcomes) if (end.status === 'rejected') throw end.reason;
  signal.throwIfAborted();

  const vanished = [...unseen];
  for (let at = 0; at < vanished.length; at += REFERENCES_PER_PAGE) {
    const page = vanished.slice(at, at + REFERENCES_PER_PAGE);
    await store.transaction(({ indexDocuments }) => indexDocuments.remove(name, page), { usesReserve: true });
    counts.removed += page.length;
  }
  await store.indexCollections.setRefreshed(name, clock.now());
  return { ...counts, problems, skipped };
}

/** Yields each reference once, up to the limit. */
async function* limitEntries(
  entries: AsyncIterable<IndexEntry>,
  onTooMany: (reference: string) => void,
): AsyncGenerator<IndexEntry> {
  const seenReferences = new Set<string>();
  for await (const entry of entries) {
    if (seenReferences.has(entry.reference)) continue;
    if (seenReferences.size >= INDEX_DOCUMENTS_MAX) return onTooMany(entry.reference);
    seenReferences.add(entry.reference);
    yield entry;
  }
}

async function readKnownHashes(store: Store, collection: string): Promise<ReadonlyMap<string, string>> {
  const known = new Map<string, string>();
  for (let after = ''; ;) {
    const page = await store.indexDocuments.listHashes(collection, { after, limit: REFERENCES_PER_PAGE });
    for (const [reference, hash] of page) {
      known.set(reference, hash);
      after = reference;
    }
    if (page.size < REFERENCES_PER_PAGE) return known;
  }
}

function toDocument(
  collection: string,
  { reference, type }: IndexEntry,
  { hash, bytes, text, title, publishedAt, page }: ReadEntryResult & { readonly type: 'read' },
  { indexedAt, cache }: { readonly indexedAt: number; readonly cache: TermCache },
): IndexDocument {
  const path = type === 'file' ? getPathName(reference) : '';
  return {
    collection,
    reference,
    url: page?.url ?? createReferenceUrl(collection, reference),
    host: page ? new URL(page.url).hostname : '',
    title,
    siteName: page?.siteName ?? collection,
    icon: page?.icon ?? '',
    publishedAt,
    hash,
    bytes,
    passages: createIndexPassages(text, { title, path }, cache),
    termFormat: INDEX_FORMAT,
    at: indexedAt,
  };
}

/** Creates the URL of a document without one: its collection and its path within it, without any local path. */
const createReferenceUrl = (collection: string, reference: string): string =>
  `parley-index:${[collection, ...reference.split('/')].map((part) => encodeURIComponent(part.toWellFormed())).join('/')}`;
