import { ServiceError } from '../../core/error.ts';
import type { Store } from '../../store/store.ts';
import { quantizeVector } from './quantized-vectors.ts';
import type { EmbeddedTexts, EmbedTexts, RefreshOptions } from './search-index.ts';

/** Page size of documents, and number of passages per embedding call. */
const DOCUMENTS_PER_PAGE = 50;
const PASSAGES_PER_CALL = 16;

/** Attempts to embed passages that exceed the model's token limit; each attempt halves the text. */
const ATTEMPTS_MAX = 4;

export interface FillVectorsDeps {
  readonly store: Store;
  readonly embed: EmbedTexts;
}

/**
 * Embeds the documents of a collection that have no vectors of the current model. If it is interrupted, each document
 * has all of its vectors or none.
 *
 * @returns the number of embedded documents; undefined if no embedding model is available.
 */
export async function fillVectors(
  collection: string,
  { store, embed }: FillVectorsDeps,
  { signal, onProgress }: RefreshOptions,
): Promise<number | undefined> {
  const model = (await embed(['model'], signal))?.model;
  if (model === undefined) return undefined;
  let done = 0;
  for (let after = 0; ;) {
    const page = await store.indexDocuments.listWithoutVectors(collection, { model, after, limit: DOCUMENTS_PER_PAGE });
    for (const { id } of page) {
      after = id;
      const texts = await store.indexDocuments.listPassageTexts(id);
      const rows: Int8Array[] = [];
      for (let at = 0; at < texts.length; at += PASSAGES_PER_CALL) {
        const embedded = await embedPassages(texts.slice(at, at + PASSAGES_PER_CALL), embed, signal);
        if (embedded?.model !== model) return done;
        rows.push(...embedded.vectors.map(quantizeVector));
      }
      const dimensions = rows[0]?.length ?? 0;
      if (dimensions === 0 || rows.some(({ length }) => length !== dimensions)) continue;
      const vectors = new Uint8Array(rows.length * dimensions);
      for (const [at, row] of rows.entries()) vectors.set(new Uint8Array(row.buffer), at * dimensions);
      await store.indexDocuments.setVectors(id, { model, dimensions, vectors });
      done++;
      onProgress?.({ step: 'vectors', done, reference: collection });
    }
    if (page.length < DOCUMENTS_PER_PAGE) return done;
  }
}

/** Shortens texts that exceed the token limit, as texts with many numbers or symbols do despite their word count. */
async function embedPassages(
  texts: readonly string[],
  embed: EmbedTexts,
  signal: AbortSignal,
): Promise<EmbeddedTexts | undefined> {
  for (let tries = 1, shortened = texts; ; tries++) {
    try {
      return await embed(shortened, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError) || error.kind !== 'invalid-request' || tries === ATTEMPTS_MAX) throw error;
      shortened = shortened.map((text) => text.slice(0, Math.ceil(text.length / 2)).toWellFormed());
    }
  }
}
