import { createHash } from 'node:crypto';
import type { Catalogue } from '../catalogue/model.ts';
import { systemIds } from '../core/id.ts';
import type { Priority } from '../core/context.ts';
import type { EmbedTexts } from '../resources/search-index/search-index.ts';
import type { ModelEngines, ModelState } from './model-engines.ts';

export interface IndexVectorsNeeds {
  readonly catalogue: Pick<Catalogue, 'find'>;
  readonly engines: Pick<ModelEngines, 'embeddingsFor' | 'stateOf'>;
  /** `live`: somebody waits for what is found. */
  readonly priority: Priority;
}

/** The entry that makes the vectors of the local index. */
const MODEL = 'svc-embed';

/** States in which a model takes a request, be it after a wait. */
const TAKING: readonly ModelState['state'][] = ['ready', 'on-demand', 'starting'];

/** Vectors by the model that is there for them; none where its weights or its engine are not on this machine. */
export function createIndexVectors({ catalogue, engines, priority }: IndexVectorsNeeds): EmbedTexts {
  return async (texts, signal) => {
    const entry = catalogue.find(MODEL);
    if (!entry || !TAKING.includes((await engines.stateOf(entry)).state)) return undefined;
    const { engine, release } = await engines.embeddingsFor({ asked: MODEL, entry });
    try {
      const inputs = texts.map((text, at) => ({ text, field: `texts[${at}]` }));
      // Of all workspaces: whose question it is stays outside of the engine.
      const owner = { workspace: '', key: 'search-index', priority };
      const { vectors } = await engine.embed({ id: systemIds.request(), owner, inputs }, signal);
      // What runs the model decides which vectors can be compared.
      const model = `${MODEL} ${createHash('sha256').update(JSON.stringify(entry.runs)).digest('hex').slice(0, 16)}`;
      return { model, vectors: vectors.map((vector) => Float32Array.from(vector)) };
    } finally {
      release();
    }
  };
}
