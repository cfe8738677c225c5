import { ServiceError } from '../../core/error.ts';
import type { IndexVectors } from '../../store/index-documents.ts';
import type { Store } from '../../store/store.ts';
import { INDEX_VECTOR_WORDS } from './limits.ts';
import { quantizeVector } from './quantized-vectors.ts';
import type { EmbeddedTexts, EmbedTexts, RefreshOptions } from './search-index.ts';

/** Documents that are listed at once, and passages per embedding call. */
const DOCUMENTS_PER_PAGE = 1_000;
const PASSAGES_PER_CALL = 64;

/** Attempts to embed a passage that exceeds the model's token limit; each attempt halves the text. */
const ATTEMPTS_MAX = 4;

export interface FillVectorsDeps {
  readonly store: Store;
  readonly embed: EmbedTexts;
  /** Receives each document that the model cannot embed: it is found by words only. */
  readonly onSkip?: ((document: { readonly id: number; readonly title: string }, reason: string) => void) | undefined;
}

interface PendingDocument {
  readonly id: number;
  readonly title: string;
  /** Number of passages. */
  readonly passages: number;
}

/**
 * Embeds the documents of a collection that have no vectors of the current model. If it is interrupted, each document
 * has all of its vectors or none.
 *
 * @returns the number of embedded documents; undefined if no embedding model is available.
 * @throws the signal's reason; any error of the model that no single document causes.
 */
export async function fillVectors(
  collection: string,
  { store, embed, onSkip }: FillVectorsDeps,
  { signal, onProgress }: RefreshOptions,
): Promise<number | undefined> {
  const model = (await embed(['model'], signal))?.model;
  if (model === undefined) return undefined;
  const pending = await listPending(collection, model, store);
  let done = 0;
  for (const batch of splitBatches(pending)) {
    const ended = await embedDocuments(batch, model, { store, embed, signal, onSkip });
    if (ended === undefined) return done;
    done += ended;
    onProgress?.({ step: 'vectors', done, total: pending.length, reference: batch.at(-1)?.title ?? collection });
  }
  return done;
}

interface EmbedDocumentsDeps extends FillVectorsDeps {
  readonly signal: AbortSignal;
}

/**
 * Embeds documents together, and one by one where that fails. A document that fails alone, too, is stored without
 * vectors: a collection counts as complete with it, and its rank depends on its words.
 *
 * @returns the number of documents that got vectors; undefined if the model is not available any more.
 */
async function embedDocuments(
  documents: readonly PendingDocument[],
  model: string,
  deps: EmbedDocumentsDeps,
): Promise<number | undefined> {
  try {
    return await embedTogether(documents, model, deps);
  } catch (error) {
    deps.signal.throwIfAborted();
    if (isOverloaded(error)) throw error;
  }
  let done = 0;
  for (const document of documents) {
    try {
      const count = await embedTogether([document], model, deps);
      if (count === undefined) return undefined;
      done += count;
    } catch (error) {
      deps.signal.throwIfAborted();
      await checkModelWorks(error, model, deps);
      await deps.store.indexDocuments.setVectors(document.id, packVectors(model, []));
      deps.onSkip?.(document, error instanceof Error ? error.message : String(error));
    }
  }
  return done;
}

/** Embeds documents in common calls. Documents that were removed meanwhile have no texts, and count as none. */
async function embedTogether(
  documents: readonly PendingDocument[],
  model: string,
  { store, embed, signal }: EmbedDocumentsDeps,
): Promise<number | undefined> {
  const listed = await Promise.all(
    documents.map(async (document) => ({ id: document.id, texts: await listTexts(document, store) })),
  );
  const existing = listed.filter(({ texts }) => texts.length > 0);
  if (existing.length === 0) return 0;
  const embedded = await embedInCalls(
    existing.flatMap(({ texts }) => texts),
    embed,
    signal,
  );
  if (embedded?.model !== model) return undefined;
  let at = 0;
  for (const { id, texts } of existing) {
    const end = at + texts.length;
    await store.indexDocuments.setVectors(id, packVectors(model, embedded.vectors.slice(at, end)));
    at = end;
  }
  return existing.length;
}

/** Tells a document that the model cannot embed from a model that fails. @throws the error if the model fails. */
async function checkModelWorks(error: unknown, model: string, { embed, signal }: EmbedDocumentsDeps): Promise<void> {
  if (isTooLong(error)) return;
  if (isOverloaded(error)) throw error;
  const answer = await embed(['model'], signal).catch(() => undefined);
  signal.throwIfAborted();
  if (answer?.model !== model) throw error;
}

async function listPending(collection: string, model: string, store: Store): Promise<readonly PendingDocument[]> {
  const pending: PendingDocument[] = [];
  for (;;) {
    const after = pending.at(-1)?.id ?? 0;
    const page = await store.indexDocuments.listWithoutVectors(collection, { model, after, limit: DOCUMENTS_PER_PAGE });
    pending.push(...page);
    if (page.length < DOCUMENTS_PER_PAGE) return pending;
  }
}

/** Groups documents, so that a call embeds many short ones. */
function* splitBatches(documents: readonly PendingDocument[]): Generator<readonly PendingDocument[]> {
  let batch: PendingDocument[] = [];
  let passages = 0;
  for (const document of documents) {
    if (batch.length > 0 && passages + document.passages > PASSAGES_PER_CALL) {
      yield batch;
      batch = [];
      passages = 0;
    }
    batch.push(document);
    passages += document.passages;
  }
  if (batch.length > 0) yield batch;
}

/**
 * Lists the texts to embed: the beginning of each passage below the title of its document, without which many say little.
 */
const listTexts = async ({ id, title }: PendingDocument, store: Store): Promise<readonly string[]> =>
  (await store.indexDocuments.listPassageTexts(id)).map((text) => {
    const whole = text.includes(title) ? text : `${title}\n${text}`;
    return new RegExp(`^(?:\\s*\\S+){1,${INDEX_VECTOR_WORDS}}`).exec(whole)?.[0] ?? whole;
  });

async function embedInCalls(
  texts: readonly string[],
  embed: EmbedTexts,
  signal: AbortSignal,
): Promise<EmbeddedTexts | undefined> {
  let model: string | undefined;
  const vectors: Float32Array[] = [];
  for (let at = 0; at < texts.length; at += PASSAGES_PER_CALL) {
    const embedded = await embedPassages(texts.slice(at, at + PASSAGES_PER_CALL), embed, signal);
    if (!embedded || (model ?? embedded.model) !== embedded.model) return undefined;
    model = embedded.model;
    vectors.push(...embedded.vectors);
  }
  return model === undefined ? undefined : { model, vectors };
}

/**
 * Embeds passages together, and one by one where one of them exceeds the token limit, as texts with many numbers or
 * symbols do despite their word count.
 */
async function embedPassages(
  texts: readonly string[],
  embed: EmbedTexts,
  signal: AbortSignal,
): Promise<EmbeddedTexts | undefined> {
  try {
    return await embed(texts, signal);
  } catch (error) {
    signal.throwIfAborted();
    if (!isTooLong(error)) throw error;
  }
  let model: string | undefined;
  const vectors: Float32Array[] = [];
  for (const text of texts) {
    const embedded = await embedShortened(text, embed, signal);
    if (!embedded || (model ?? embedded.model) !== embedded.model) return undefined;
    model = embedded.model;
    vectors.push(...embedded.vectors);
  }
  return model === undefined ? undefined : { model, vectors };
}

/** Embeds the longest beginning of a text that the model accepts, found by halving. */
async function embedShortened(
  text: string,
  embed: EmbedTexts,
  signal: AbortSignal,
): Promise<EmbeddedTexts | undefined> {
  for (let attempt = 1, shortened = text; ; attempt++) {
    try {
      return await embed([shortened], signal);
    } catch (error) {
      signal.throwIfAborted();
      if (!isTooLong(error) || attempt === ATTEMPTS_MAX) throw error;
      shortened = shortened.slice(0, Math.ceil(shortened.length / 2)).toWellFormed();
    }
  }
}

const isTooLong = (error: unknown): boolean => error instanceof ServiceError && error.kind === 'invalid-request';

const isOverloaded = (error: unknown): boolean => error instanceof ServiceError && error.kind === 'overloaded';

/** An empty list of vectors has 0 dimensions. */
function packVectors(model: string, vectors: readonly Float32Array[]): IndexVectors {
  const rows = vectors.map(quantizeVector);
  const dimensions = rows[0]?.length ?? 0;
  const packed = new Uint8Array(rows.length * dimensions);
  for (const [at, row] of rows.entries())
    packed.set(new Uint8Array(row.buffer).subarray(0, dimensions), at * dimensions);
  return { model, dimensions, vectors: packed };
}
