import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/** Drops calls from an answer that was to have none. */
export function createWithoutCalls(): Stage<ChoiceEvent, ChoiceEvent> {
  return {
    push(event, emit) {
      if (event.type === 'tool-call' || event.type === 'tool-arguments') return;
      const isEndOfCalls = event.type === 'choice-end' && event.reason === 'tool-calls';
      emit(isEndOfCalls ? { ...event, reason: 'stop' } : event);
    },
    end() {
      // Nothing is held.
    },
  };
}
