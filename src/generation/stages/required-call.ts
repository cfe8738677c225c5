import { ServiceError } from '../../core/error.ts';
import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

/**
 * Rejects an answer without the required call: some servers accept `tool_choice` and answer with text anyway. An answer
 * that a token limit cut may lack the call.
 */
export function createRequiredCallStage(): Stage<ChoiceEvent, ChoiceEvent> {
  let hasCall = false;
  return {
    push(event, emit) {
      if (event.type === 'tool-call') hasCall = true;
      if (event.type === 'choice-end' && !hasCall && event.reason !== 'length')
        throw new ServiceError('upstream-failed', 'The server of this model answered without the required tool call.', {
          cause: new Error('the answer has no tool call although one was required'),
        });
      emit(event);
    },
    end() {
      // This stage holds nothing back.
    },
  };
}
