import type { EngineEvent } from '../../core/event.ts';
import { createHeldText } from './held-text.ts';
import type { Look } from './line-pattern.ts';
import { seeText } from './seen-text.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;
type Emit = (event: ChoiceEvent) => void;

/**
 * Ends what fills a gap where the first of these stands in it, the end of the line before included. What may become one is
 * held back, so that a stream never tells what the whole answer has not.
 *
 * Models do not always end where the gap does: they go on with what stands behind it, or with something like it.
 */
export function createFillingEnd(ends: readonly Look[]): Stage<ChoiceEvent, ChoiceEvent> {
  const held = createHeldText();
  /** Text before this position is said. */
  let said = 0;
  /** The character before it; empty at the beginning. */
  let before = '';
  let isOver = false;
  /** What begins at `said` may become an end, and blanks are the last of it. */
  let isOpenBehindBlank = false;

  /** @returns whether the filling has ended. */
  const release = (emit: Emit, isLast: boolean): boolean => {
    const text = held.slice(said, held.end);
    const seen = seeText({ text, from: said, before, isLast });
    let at = 0;
    let isFound = false;
    for (; at < text.length; at++) {
      const verdicts = ends.map((look) => look(seen, at));
      isFound = verdicts.includes('found');
      if (isFound || verdicts.includes('open')) break;
    }
    said += at;
    isOpenBehindBlank = at < text.length && text.trimEnd() !== text;
    before = text[at - 1] ?? before;
    held.say(said, emit);
    return isFound;
  };

  const endHere = (choice: number, emit: Emit): void => {
    isOver = true;
    held.drop(held.end);
    held.settle(emit);
    emit({ type: 'choice-end', choice, reason: 'stop' });
  };

  return {
    push(event, emit) {
      if (isOver) return;
      if (event.type === 'text') {
        held.push(event);
        // More blanks decide nothing: to look again at each would take time in the square of their number.
        if (isOpenBehindBlank && event.text.trim() === '') return;
        if (release(emit, false)) endHere(event.choice, emit);
        return;
      }
      if (release(emit, true)) return endHere(event.choice, emit);
      held.settle(emit);
      emit(event);
    },
    end() {
      // Every choice ends with an event of its own, which released all.
    },
  };
}
