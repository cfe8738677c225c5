import type { ChoiceEvent } from '../../core/event.ts';
import type { GenerationPhase } from '../../core/prompt.ts';
import type { Stage } from './stage.ts';

/**
 * Converts text of a thought phase to reasoning events. Blanks at the end, which only separate the thought from its
 * mark, are held back until more text follows.
 */
export function createThoughtStage(phases: readonly Pick<GenerationPhase, 'kind'>[]): Stage<ChoiceEvent, ChoiceEvent> {
  let heldBlanks = '';
  return {
    push(event, emit) {
      if (event.type !== 'text' || phases[event.phase]?.kind !== 'thought') return emit(event);
      const text = heldBlanks + event.text;
      const trimmed = text.trimEnd();
      heldBlanks = text.slice(trimmed.length);
      // Emitted also with empty text, because its tokens count.
      emit({ type: 'reasoning', choice: event.choice, text: trimmed, tokens: event.tokens });
    },
    end() {
      heldBlanks = '';
    },
  };
}
