import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import { INDEX_CANDIDATES, INDEX_SIMILARITY_MIN, INDEX_VECTOR_BYTES_MAX } from './limits.ts';
import type { IndexSearchFilter } from '../../store/index-search.ts';
import type { Store } from '../../store/store.ts';
import { findNearestVector, quantizeVector } from './quantized-vectors.ts';
import type { EmbeddedTexts } from './search-index.ts';

export interface NearestPassage {
  readonly document: number;
  readonly passage: number;
  /** Cosine similarity. */
  readonly similarity: number;
}

/** Documents whose vectors are compared before the event loop gets control. */
const DOCUMENTS_PER_PAGE = 100;

export interface NearestDocuments {
  /** Best first. */
  readonly nearest: readonly NearestPassage[];
  /** Collections whose documents were not all compared, and of which `nearest` has none. */
  readonly incompleteCollections: ReadonlySet<string>;
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
  const incompleteCollections = new Set(await store.indexSearch.listIncompleteCollections(model, scope));
  const filter = { ...scope, excludedCollections: [...incompleteCollections] };
  const bytes = quantizeVector(question);
  const nearest: NearestPassage[] = [];
  let bytesLeft = INDEX_VECTOR_BYTES_MAX;
  for (let after = 0; ;) {
    const page = await store.indexSearch.listVectors(model, filter, { after, limit: DOCUMENTS_PER_PAGE });
    for (const { document, firstPassage, dimensions, vectors } of page) {
      after = document;
      bytesLeft -= vectors.length;
      const best = dimensions === bytes.length ? findNearestVector(vectors, bytes) : undefined;
      if (best && best.similarity >= INDEX_SIMILARITY_MIN)
        nearest.push({ document, passage: firstPassage + best.at, similarity: best.similarity });
    }
    if (bytesLeft < 0) return undefined;
    if (page.length < DOCUMENTS_PER_PAGE) break;
    await yieldToEventLoop();
    signal.throwIfAborted();
  }
  const ranked = nearest.toSorted((one, other) => other.similarity - one.similarity).slice(0, INDEX_CANDIDATES);
  return { nearest: ranked, incompleteCollections };
}
