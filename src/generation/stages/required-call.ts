import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/**
 * Holds a server to the call that was required of it: some servers take the wish and answer in words all the same. An
 * answer that a token limit cut off may lack it.
 */
export function createRequiredCall(): Stage<ChoiceEvent, ChoiceEvent> {
  let hasCall = false;
  return {
    push(event, emit) {
      if (event.type === 'tool-call') hasCall = true;
      if (event.type === 'choice-end' && !hasCall && event.reason !== 'length')
        throw new ServiceError(
          'upstream-failed',
          'The server of this model answered without the call that was required.',
          {
            cause: new Error('an answer without its required call'),
          },
        );
      emit(event);
    },
    end() {
      // Nothing is held.
    },
  };
}
