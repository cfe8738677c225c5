import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { INDEX_CANDIDATES, INDEX_SIMILARITY_MIN, INDEX_VECTOR_BYTES_MAX } from './limits.ts';
import type { IndexSearchFilter } from '../../store/index-search.ts';
import type { Store } from '../../store/store.ts';
import { findNearestVector, quantizeVector } from './quantized-vectors.ts';
import type { EmbeddedTexts } from './search-index.ts';

export interface NearestPassage {
  readonly document: number;
  readonly passage: number;
  /** Cosine similarity of the question and this passage. */
  readonly similarity: number;
  /** That of the first passage, which usually says what the document is about. */
  readonly leadSimilarity: number;
}

/** Documents whose vectors are compared before the event loop gets control. */
const DOCUMENTS_PER_PAGE = 100;

export interface NearestDocuments {
  /** The most similar ones, best first. */
  readonly nearest: readonly NearestPassage[];
  /** The most similar passage of each document that was compared. */
  readonly byDocument: ReadonlyMap<number, NearestPassage>;
}

/**
 * Finds the documents whose passages are most similar to a question. A collection of which some documents have no
 * vectors yet is left out, because the others would outrank them, whatever they say.
 *
 * @returns undefined if there are more vectors than INDEX_VECTOR_BYTES_MAX: comparing a part would be as unfair.
 */
export async function findNearestDocuments(
  { model, vectors: [question] }: EmbeddedTexts,
  scope: IndexSearchFilter,
  { store, signal }: { readonly store: Store; readonly signal: AbortSignal },
): Promise<NearestDocuments | undefined> {
  if (!question) return undefined;
  const excludedCollections = await store.indexSearch.listIncompleteCollections(model, scope);
  const filter = { ...scope, excludedCollections };
  const bytes = quantizeVector(question);
  const byDocument = new Map<number, NearestPassage>();
  let bytesLeft = INDEX_VECTOR_BYTES_MAX;
  for (let after = 0; ;) {
    const page = await store.indexSearch.listVectors(model, filter, { after, limit: DOCUMENTS_PER_PAGE });
    for (const { document, firstPassage, dimensions, vectors } of page) {
      after = document;
      bytesLeft -= vectors.length;
      const best = dimensions === bytes.length ? findNearestVector(vectors, bytes) : undefined;
      const lead = best && findNearestVector(vectors.subarray(0, dimensions), bytes);
      if (!best || !lead) continue;
      const passage = firstPassage + best.at;
      const { similarity } = best;
      byDocument.set(document, { document, passage, similarity, leadSimilarity: lead.similarity });
    }
    if (bytesLeft < 0) return undefined;
    if (page.length < DOCUMENTS_PER_PAGE) break;
    await yieldToEventLoop();
    signal.throwIfAborted();
  }
  const nearest = [...byDocument.values()]
    .filter(({ similarity }) => similarity >= INDEX_SIMILARITY_MIN)
    .toSorted((one, other) => other.similarity - one.similarity)
    .slice(0, INDEX_CANDIDATES);
  return { nearest, byDocument };
}
