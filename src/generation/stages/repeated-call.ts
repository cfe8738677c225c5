import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

/**
 * Holds back an answer's first call while it may become one whose result is known. When it does, the stage drops the
 * call and everything after it and calls `onRepeated`, which continues the answer with another run.
 */
export function createRepeatedCallStage(
  knownCalls: {
    readonly has: (tool: string, argumentsText: string) => boolean;
    readonly hasPrefix: (tool: string, argumentsText: string) => boolean;
  },
  onRepeated: () => void,
): Stage<ChoiceEvent, ChoiceEvent> {
  let state: 'before' | 'holding' | 'passing' | 'dropping' = 'before';
  let heldEvents: ChoiceEvent[] = [];
  let call = { name: '', text: '' };

  const releaseHeld = (emit: (event: ChoiceEvent) => void): void => {
    state = 'passing';
    for (const event of heldEvents) emit(event);
    heldEvents = [];
  };

  const decide = (emit: (event: ChoiceEvent) => void): void => {
    if (!knownCalls.has(call.name, call.text)) return releaseHeld(emit);
    state = 'dropping';
    heldEvents = [];
    onRepeated();
  };

  return {
    push(event, emit) {
      if (state === 'before' && event.type === 'tool-call') {
        state = 'holding';
        call = { name: event.name, text: '' };
        heldEvents.push(event);
        if (!knownCalls.hasPrefix(call.name, '')) releaseHeld(emit);
        return;
      }
      if (state === 'holding') {
        if (event.type === 'tool-arguments') call.text += event.text;
        // An event with empty text only counts the tokens of markup.
        if (event.type === 'tool-arguments' || (event.type === 'text' && event.text === '')) {
          heldEvents.push(event);
          if (!knownCalls.hasPrefix(call.name, call.text)) releaseHeld(emit);
          return;
        }
        // A call that was cut by a token limit does not count as repeated.
        if (event.type === 'choice-end' && event.reason === 'length') call.name = '';
        decide(emit);
      }
      if (state !== 'dropping') emit(event);
    },
    end() {
      heldEvents = [];
    },
  };
}
