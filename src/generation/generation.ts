import type { RequestContext } from '../core/context.ts';
import type { GenerationEvent } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ModelInterface } from '../catalogue/model.ts';

/** A run that the engine has taken in. */
export interface Generation {
  /** Ends after the `end` event; stopping early cancels the run. */
  readonly batches: AsyncIterable<readonly GenerationEvent[]>;
  /** Fields of the request that were accepted and not honoured, in canonical notation, e.g. `max_tokens(clamped)`. */
  readonly ignored: readonly string[];
}

/**
 * Runs a request. Refusals reject here, before any head is sent.
 * @throws ServiceError of any kind the catalogue, the admission or the engine refuses with.
 */
export type Generate = (
  request: GenerationRequest,
  on: { readonly interface: ModelInterface },
  context: RequestContext,
) => Promise<Generation>;
