import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/**
 * Holds an answer's first call back as long as it may become one whose result is known. When it does, the call and all that
 * follows it are dropped, and `onRepeated` is told: somebody else then goes on.
 */
export function createRepeatedCall(
  answered: {
    readonly has: (tool: string, argumentsText: string) => boolean;
    readonly hasBeginning: (tool: string, argumentsText: string) => boolean;
  },
  onRepeated: () => void,
): Stage<ChoiceEvent, ChoiceEvent> {
  let state: 'before' | 'holding' | 'passing' | 'dropping' = 'before';
  let held: ChoiceEvent[] = [];
  let call = { name: '', text: '' };

  const pass = (emit: (event: ChoiceEvent) => void): void => {
    state = 'passing';
    for (const event of held) emit(event);
    held = [];
  };

  const decide = (emit: (event: ChoiceEvent) => void): void => {
    if (!answered.has(call.name, call.text)) return pass(emit);
    state = 'dropping';
    held = [];
    onRepeated();
  };

  return {
    push(event, emit) {
      if (state === 'before' && event.type === 'tool-call') {
        state = 'holding';
        call = { name: event.name, text: '' };
        held.push(event);
        if (!answered.hasBeginning(call.name, '')) pass(emit);
        return;
      }
      if (state === 'holding') {
        if (event.type === 'tool-arguments') call.text += event.text;
        // Text without text only counts the tokens of markup.
        if (event.type === 'tool-arguments' || (event.type === 'text' && event.text === '')) {
          held.push(event);
          if (!answered.hasBeginning(call.name, call.text)) pass(emit);
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
