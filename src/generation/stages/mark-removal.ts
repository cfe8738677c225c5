import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { createTextBuffer } from './text-buffer.ts';

/**
 * Removes marks from an answer's text, also those that are split over several events. A model whose thought was closed
 * for it may think on and close it again: this mark is not part of the answer.
 *
 * @param endMarks Texts that are removed only at the end of the text: tokens that end the turn, which some servers pass on.
 */
export function createMarkRemovalStage(
  marks: readonly string[],
  endMarks: readonly string[] = [],
): Stage<ChoiceEvent, ChoiceEvent> {
  const end = new RegExp(`(?:${endMarks.map((mark) => RegExp.escape(mark)).join('|') || '(?!)'})\\s*$`);
  const heldMarks = [...marks, ...endMarks];
  const buffer = createTextBuffer();
  /** Text before this position was emitted or dropped. */
  let doneEnd = 0;

  const emitDecided = (emit: (event: ChoiceEvent) => void, { isLast }: { isLast: boolean }): void => {
    for (;;) {
      const text = buffer.slice(doneEnd, buffer.end);
      const [at, mark] = findFirstMark(text, marks);
      const endAt = mark === undefined ? end.exec(text)?.index : undefined;
      const emittedLength =
        mark !== undefined ? at : (endAt ?? text.length - (isLast ? 0 : countPossibleMarkChars(text, heldMarks)));
      doneEnd += emittedLength;
      buffer.emitUntil(doneEnd, emit);
      if (endAt !== undefined && isLast) {
        doneEnd = buffer.end;
        buffer.dropUntil(doneEnd);
      }
      if (mark === undefined) return;
      doneEnd += mark.length;
      buffer.dropUntil(doneEnd);
    }
  };

  return {
    push(event, emit) {
      if (event.type === 'text') {
        buffer.push(event);
        return emitDecided(emit, { isLast: false });
      }
      emitDecided(emit, { isLast: true });
      buffer.emitOwedTokens(emit);
      emit(event);
    },
    end() {
      // The choice-end event has released everything.
    },
  };
}

function findFirstMark(text: string, marks: readonly string[]): [at: number, mark: string | undefined] {
  let best: [number, string | undefined] = [Infinity, undefined];
  for (const mark of marks) {
    const at = text.indexOf(mark);
    if (at >= 0 && at < best[0]) best = [at, mark];
  }
  return best;
}

/** Counts the characters at the end that may be the start of a mark. */
function countPossibleMarkChars(text: string, marks: readonly string[]): number {
  const longest = Math.max(...marks.map((mark) => mark.length - 1));
  for (let length = Math.min(longest, text.length); length > 0; length--)
    if (marks.some((mark) => mark.length > length && mark.startsWith(text.slice(-length)))) return length;
  return 0;
}
