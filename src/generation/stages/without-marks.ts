import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { createHeldText } from './held-text.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/**
 * Takes marks out of an answer's text, wherever they are cut.
 *
 * A model whose thought was closed for it may go on thinking and close it again: the mark is structure, not an answer.
 */
export function createWithoutMarks(marks: readonly string[]): Stage<ChoiceEvent, ChoiceEvent> {
  const held = createHeldText();
  /** Everything before is said or dropped. */
  let done = 0;

  const release = (emit: (event: ChoiceEvent) => void, { isLast }: { isLast: boolean }): void => {
    for (;;) {
      const text = held.slice(done, held.end);
      const [at, mark] = firstOf(text, marks);
      const free = mark === undefined ? text.length - (isLast ? 0 : openEnd(text, marks)) : at;
      done += free;
      held.say(done, emit);
      if (mark === undefined) return;
      done += mark.length;
      held.drop(done);
    }
  };

  return {
    push(event, emit) {
      if (event.type === 'text') {
        held.push(event);
        return release(emit, { isLast: false });
      }
      release(emit, { isLast: true });
      held.settle(emit);
      emit(event);
    },
    end() {
      // Every choice ends with an event of its own, which released all.
    },
  };
}

function firstOf(text: string, marks: readonly string[]): [at: number, mark: string | undefined] {
  let best: [number, string | undefined] = [Infinity, undefined];
  for (const mark of marks) {
    const at = text.indexOf(mark);
    if (at >= 0 && at < best[0]) best = [at, mark];
  }
  return best;
}

/** Characters at the end that may be the beginning of a mark. */
function openEnd(text: string, marks: readonly string[]): number {
  const longest = Math.max(...marks.map((mark) => mark.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length--)
    if (marks.some((mark) => mark.length > length && mark.startsWith(text.slice(-length)))) return length;
  return 0;
}
