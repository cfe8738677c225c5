import { createHash } from 'node:crypto';
import type { Catalogue, ModelEntry } from '../../catalogue/model.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { Priority } from '../../core/context.ts';
import type { EmbedTexts } from './search-index.ts';
import type { ModelState } from '../../service/engine-host.ts';
import type { ModelEngines } from '../../service/model-engines.ts';

export interface EmbedIndexTextsDeps {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly engines: Pick<ModelEngines, 'embeddingsFor' | 'getState'>;
  /** `live` when a caller waits for the search result, else `background`. */
  readonly priority: Priority;
}

/** Catalogue entry that produces the vectors of the local index. */
const EMBEDDING_MODEL = 'svc-embed';

/** States in which a model accepts requests, possibly after a wait. */
const ACCEPTING_STATES: readonly ModelState['state'][] = ['ready', 'on-demand', 'starting'];

/** Whether the model of an entry can run: its weights and its engine are installed. */
export const isAccepting = async (entry: ModelEntry, engines: Pick<ModelEngines, 'getState'>): Promise<boolean> =>
  ACCEPTING_STATES.includes((await engines.getState(entry)).state);

/**
 * Creates the function that embeds texts for the local index. It returns undefined when the embedding model cannot run because
 * its weights or its engine are not installed.
 */
export function createEmbedIndexTexts({ catalogue, engines, priority }: EmbedIndexTextsDeps): EmbedTexts {
  return async (texts, signal) => {
    const entry = catalogue.find(EMBEDDING_MODEL);
    if (!entry || !(await isAccepting(entry, engines))) return undefined;
    const { engine, release } = await engines.embeddingsFor({ requestedName: EMBEDDING_MODEL, entry });
    try {
      const inputs = texts.map((text, index) => ({ text, field: `texts[${index}]` }));
      // The index serves all workspaces, and the engine does not learn which of them asks.
      const owner = { workspace: '', key: 'search-index', priority };
      const { vectors } = await engine.embed({ id: systemIdGenerator.createRequestId(), owner, inputs }, signal);
      // Vectors are comparable only when the same weights made them, so the name includes a hash of what runs the model.
      const model = `${EMBEDDING_MODEL} ${createHash('sha256').update(JSON.stringify(entry.runner)).digest('hex').slice(0, 16)}`;
      return { model, vectors: vectors.map((vector) => Float32Array.from(vector)) };
    } finally {
      release();
    }
  };
}
