import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

/** Removes tool calls from an answer that must not have any. */
export function createCallRemovalStage(): Stage<ChoiceEvent, ChoiceEvent> {
  return {
    push(event, emit) {
      if (event.type === 'tool-call' || event.type === 'tool-arguments') return;
      const isEndOfCalls = event.type === 'choice-end' && event.reason === 'tool-calls';
      emit(isEndOfCalls ? { ...event, reason: 'stop' } : event);
    },
    end() {
      // This stage holds nothing back.
    },
  };
}
