import type { RequestContext } from '../core/context.ts';
import type { GenerationEvent } from '../core/event.ts';
import type { GenerationRequest } from '../core/request.ts';
import type { ModelTarget } from './model-target.ts';

/** A run that the engine has accepted. */
export interface Generation {
  /** Ends after the `end` event. Calling `return` early cancels the run. */
  readonly batches: AsyncIterable<readonly GenerationEvent[]>;
  /** Accepted request fields that have no or less effect, in canonical notation, e.g. `max_tokens(clamped)`. */
  readonly ignored: readonly string[];
}

/**
 * Runs a request. It rejects before any response header is sent.
 * @throws ServiceError as the catalogue, the admission or the engine does.
 */
export type Generate = (request: GenerationRequest, on: ModelTarget, context: RequestContext) => Promise<Generation>;
