import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/**
 * Holds an answer's first call back until it is complete. When it repeats one whose result is known, the call and all that
 * follows it are dropped, and `onRepeated` is told: somebody else then goes on.
 */
export function createRepeatedCall(
  isRepeated: (tool: string, argumentsText: string) => boolean,
  onRepeated: () => void,
): Stage<ChoiceEvent, ChoiceEvent> {
  let state: 'before' | 'holding' | 'passing' | 'dropping' = 'before';
  let held: ChoiceEvent[] = [];
  let call = { name: '', text: '' };

  const decide = (emit: (event: ChoiceEvent) => void): void => {
    if (isRepeated(call.name, call.text)) {
      state = 'dropping';
      onRepeated();
    } else {
      state = 'passing';
      for (const event of held) emit(event);
    }
    held = [];
  };

  return {
    push(event, emit) {
      if (state === 'before' && event.type === 'tool-call') {
        state = 'holding';
        call = { name: event.name, text: '' };
        held.push(event);
        return;
      }
      if (state === 'holding') {
        if (event.type === 'tool-arguments') call.text += event.text;
        // Text without text only counts the tokens of markup.
        if (event.type === 'tool-arguments' || (event.type === 'text' && event.text === '')) {
          held.push(event);
          return;
        }
        // A call that a limit cut is none that could be repeated.
        if (event.type === 'choice-end' && event.reason === 'length') call.name = '';
        decide(emit);
      }
      if (state !== 'dropping') emit(event);
    },
    end() {
      held = [];
    },
  };
}
