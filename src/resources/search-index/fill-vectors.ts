import { ServiceError } from '../../core/error.ts';
import type { Store } from '../../store/store.ts';
import { toBytes } from './byte-vectors.ts';
import type { EmbeddedTexts, EmbedTexts, RefreshWatch } from './search-index.ts';

/** Documents that are looked for at once, and passages whose vectors are. */
const DOCUMENTS = 50;
const PASSAGES = 16;

/** Tries at a passage that has more tokens than the model takes: each has half as much of it. */
const TRIES = 4;

export interface FillVectorsNeeds {
  readonly store: Store;
  readonly embed: EmbedTexts;
}

/**
 * Gives vectors to the documents of a collection that have none of the model that makes them now. Whatever ends this leaves
 * whole documents.
 *
 * @returns how many documents; undefined where nothing makes vectors.
 */
export async function fillVectors(
  collection: string,
  { store, embed }: FillVectorsNeeds,
  { signal, onProgress }: RefreshWatch,
): Promise<number | undefined> {
  const model = (await embed(['model'], signal))?.model;
  if (model === undefined) return undefined;
  let done = 0;
  for (let after = 0; ;) {
    const page = await store.indexDocuments.withoutVectors(collection, { model, after, limit: DOCUMENTS });
    for (const { id } of page) {
      after = id;
      const texts = await store.indexDocuments.textsOf(id);
      const rows: Int8Array[] = [];
      for (let at = 0; at < texts.length; at += PASSAGES) {
        const made = await embedPassages(texts.slice(at, at + PASSAGES), embed, signal);
        if (made?.model !== model) return done;
        rows.push(...made.vectors.map(toBytes));
      }
      const dimensions = rows[0]?.length ?? 0;
      if (dimensions === 0 || rows.some(({ length }) => length !== dimensions)) continue;
      const vectors = new Uint8Array(rows.length * dimensions);
      for (const [at, row] of rows.entries()) vectors.set(new Uint8Array(row.buffer), at * dimensions);
      await store.indexDocuments.setVectors(id, { model, dimensions, vectors });
      done++;
      onProgress?.({ step: 'vectors', done, reference: collection });
    }
    if (page.length < DOCUMENTS) return done;
  }
}

/** Texts with many numbers or signs have more tokens than their words tell. */
async function embedPassages(
  texts: readonly string[],
  embed: EmbedTexts,
  signal: AbortSignal,
): Promise<EmbeddedTexts | undefined> {
  for (let tries = 1, wanted = texts; ; tries++) {
    try {
      return await embed(wanted, signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!(error instanceof ServiceError) || error.kind !== 'invalid-request' || tries === TRIES) throw error;
      wanted = wanted.map((text) => text.slice(0, Math.ceil(text.length / 2)).toWellFormed());
    }
  }
}
