import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EmbeddingEngine, EmbeddingInput } from '../engines/engine.ts';
import { withEngine } from './with-engine.ts';
import type { WithEngineNeeds } from './with-engine.ts';

export interface EmbeddingWish {
  /** As the caller wrote it; the catalogue resolves it. */
  readonly model: string;
  readonly inputs: readonly EmbeddingInput[];
  /** Fewer components than the model has; `field` is where it stands in the request. */
  readonly dimensions?: { readonly count: number; readonly field: string };
}

export interface Embedded {
  /** One for each input, of length 1. */
  readonly vectors: readonly Float32Array[];
  readonly promptTokens: number;
}

/** Makes vectors. @throws ServiceError of any kind the catalogue, the admission or the engine refuses with. */
export type Embed = (wish: EmbeddingWish, context: RequestContext) => Promise<Embedded>;

export function createEmbed(needs: WithEngineNeeds<EmbeddingEngine>): Embed {
  return ({ model, inputs, dimensions }, context) =>
    withEngine(needs, { model, interface: 'embeddings' }, context, async (engine, owner) => {
      const full = await engine.dimensions();
      if (dimensions && dimensions.count > full)
        throw new ServiceError(
          'invalid-request',
          `${dimensions.field} must be at most ${full}, as many as the vectors of model ${model} have, got ${dimensions.count}.`,
          { param: dimensions.field },
        );
      const made = await engine.embed({ id: context.requestId, owner, inputs }, context.signal);
      if (made.vectors.length !== inputs.length) throw failed('the engine left out a vector');
      const vectors = made.vectors.map((vector) => normalised(vector.slice(0, dimensions?.count)));
      return { promptTokens: made.tokens, result: { vectors, promptTokens: made.tokens } };
    });
}

/** To length 1, so that a dot product is the cosine; also after components were left out. */
function normalised(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  // Nothing has no direction: a failure is never an empty success.
  if (!(length > 0 && Number.isFinite(length))) throw failed('the engine gave a vector without a direction');
  return Float32Array.from(vector, (component) => component / length);
}

const failed = (cause: string): ServiceError =>
  new ServiceError('engine-failed', 'The engine failed on this request.', { cause: new Error(cause) });
