import { setImmediate as nextTurn } from 'node:timers/promises';
import { INDEX_CANDIDATES, INDEX_SIMILARITY_MIN, INDEX_VECTOR_BYTES_MAX } from '../../core/limits.ts';
import type { IndexScope } from '../../store/index-search.ts';
import type { Store } from '../../store/store.ts';
import { nearestIn, toBytes } from './byte-vectors.ts';
import type { EmbeddedTexts } from './search-index.ts';

export interface Near {
  readonly document: number;
  readonly passage: number;
  /** Cosine. */
  readonly similarity: number;
}

/** Documents whose vectors are compared before others have their turn. */
const PAGE = 100;

/** The documents whose passages come nearest to a question, the nearest first: all are looked at, up to a bound. */
export async function nearestDocuments(
  { model, vectors: [wanted] }: EmbeddedTexts,
  scope: IndexScope,
  { store, signal }: { readonly store: Store; readonly signal: AbortSignal },
): Promise<readonly Near[]> {
  if (!wanted) return [];
  const bytes = toBytes(wanted);
  const near: Near[] = [];
  let left = INDEX_VECTOR_BYTES_MAX;
  for (let after = 0; left > 0;) {
    const page = await store.indexSearch.vectors(model, scope, { after, limit: PAGE });
    for (const { document, firstPassage, dimensions, vectors } of page) {
      after = document;
      left -= vectors.length;
      const best = dimensions === bytes.length ? nearestIn(vectors, bytes) : undefined;
      if (best && best.similarity >= INDEX_SIMILARITY_MIN)
        near.push({ document, passage: firstPassage + best.at, similarity: best.similarity });
    }
    if (page.length < PAGE) break;
    await nextTurn();
    signal.throwIfAborted();
  }
  return near.toSorted((one, other) => other.similarity - one.similarity).slice(0, INDEX_CANDIDATES);
}
