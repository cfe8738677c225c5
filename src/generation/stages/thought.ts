import type { EngineEvent } from '../../core/event.ts';
import type { Phase } from '../../core/prompt.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/**
 * Text of a thought phase is thought.
 *
 * Blanks at its end, which only separate it from its mark, are held back until more of it comes.
 */
export function createThought(phases: readonly Pick<Phase, 'kind'>[]): Stage<ChoiceEvent, ChoiceEvent> {
  let held = '';
  return {
    push(event, emit) {
      if (event.type !== 'text' || phases[event.phase]?.kind !== 'thought') return emit(event);
      const text = held + event.text;
      const said = text.trimEnd();
      held = text.slice(said.length);
      // Also without text: its tokens count.
      emit({ type: 'reasoning', choice: event.choice, text: said, tokens: event.tokens });
    },
    end() {
      held = '';
    },
  };
}
