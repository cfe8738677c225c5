import type { RequestContext } from '../core/context.ts';
import { ServiceError } from '../core/error.ts';
import type { EmbeddingEngine, EmbeddingInput } from '../engines/engine.ts';
import type { ModelTarget } from './model-target.ts';
import { withEngine, type WithEngineDeps } from './with-engine.ts';
import { createEngineFailedError } from '../core/generation-errors.ts';

export interface EmbedRequest {
  /** Name in the caller's request. */
  readonly model: string;
  readonly inputs: readonly EmbeddingInput[];
  /** Reduces the vectors to `count` components; `field` is the request field that asks for it. */
  readonly dimensions?: { readonly count: number; readonly field: string };
}

export interface EmbedResult {
  /** One vector of length 1 for each input. */
  readonly vectors: readonly Float32Array[];
  readonly promptTokens: number;
}

/** Computes vectors. @throws ServiceError as the catalogue, the admission or the engine does. */
export type EmbedFunction = (request: EmbedRequest, on: ModelTarget, context: RequestContext) => Promise<EmbedResult>;

export function createEmbedder(deps: WithEngineDeps<EmbeddingEngine>): EmbedFunction {
  return ({ model, inputs, dimensions }, on, context) =>
    withEngine(deps, { model, on }, context, async (engine, owner) => {
      const full = await engine.getDimensions();
      if (dimensions && dimensions.count > full)
        throw new ServiceError(
          'invalid-request',
          `${dimensions.field} must be at most ${full}, as many as the vectors of model ${model} have, got ${dimensions.count}.`,
          { param: dimensions.field },
        );
      const output = await engine.embed({ id: context.requestId, owner, inputs }, context.signal);
      if (output.vectors.length !== inputs.length) throw createEngineError('the engine left out a vector');
      const vectors = output.vectors.map((vector) => normalizeVector(vector.slice(0, dimensions?.count)));
      return { promptTokens: output.tokens, result: { vectors, promptTokens: output.tokens } };
    });
}

/** Scales a vector to length 1, so that a dot product is the cosine; needed again after components were cut. */
function normalizeVector(vector: readonly number[]): Float32Array {
  const length = Math.hypot(...vector);
  // A vector of length 0 has no direction; the request fails rather than return it.
  if (!(length > 0 && Number.isFinite(length))) throw createEngineError('the engine gave a vector without a direction');
  return Float32Array.from(vector, (component) => component / length);
}

const createEngineError = (cause: string): ServiceError => createEngineFailedError(new Error(cause));
