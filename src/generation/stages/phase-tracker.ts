import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

/** Tracks the phase of the current text for later stages: stages in between may not pass every event on. */
export interface PhaseTracker {
  readonly stage: Stage<ChoiceEvent, ChoiceEvent>;
  /** Returns the index of the phase; 0 before any text. */
  getPhase(): number;
}

export function createPhaseTracker(): PhaseTracker {
  let phase = 0;
  return {
    stage: {
      push(event, emit) {
        if (event.type === 'text') ({ phase } = event);
        emit(event);
      },
      end: () => undefined,
    },
    getPhase: () => phase,
  };
}
