import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/** Which phase the text comes from that the stages behind are just busy with; they do not all pass it on. */
export interface PhaseWatch {
  readonly stage: Stage<ChoiceEvent, ChoiceEvent>;
  /** Position of the phase; 0 before any text. */
  phase(): number;
}

export function createPhaseWatch(): PhaseWatch {
  let phase = 0;
  return {
    stage: {
      push(event, emit) {
        if (event.type === 'text') ({ phase } = event);
        emit(event);
      },
      end: () => undefined,
    },
    phase: () => phase,
  };
}
