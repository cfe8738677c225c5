import type { ChoiceEvent, LateThought } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { createTextBuffer } from './text-buffer.ts';

export interface MarkRemovalOptions {
  readonly choice: number;
  /** Marks that are removed wherever they stand. */
  readonly marks: readonly string[];
  /** Texts that are removed only at the end of the text: tokens that end the turn, which some servers pass on. */
  readonly endMarks?: readonly string[];
  /** Mark that ends a thought. */
  readonly thoughtEnd?: string;
  /** Whether a thought has preceded the text. */
  readonly hasThought?: () => boolean;
  readonly keepsThoughts?: boolean;
}

/**
 * Removes marks from an answer's text, also those that are split over several events. A model whose thought was closed
 * for it may think on and close it again: this mark is not part of the answer.
 *
 * If the first mark that ends a thought comes without a thought before it, the text before it was the thought. That text
 * was already emitted, because nothing else showed what it was, so an event says it at the mark. Results that are not
 * streamed can still move the text.
 */
export function createMarkRemovalStage({
  choice,
  marks: everywhere,
  endMarks = [],
  thoughtEnd,
  hasThought = () => false,
  keepsThoughts = false,
}: MarkRemovalOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const end = new RegExp(`(?:${endMarks.map((mark) => RegExp.escape(mark)).join('|') || '(?!)'})\\s*$`);
  let hasAnswer = thoughtEnd === undefined;
  const buffer = createTextBuffer();
  /** Text before this position was emitted or dropped. */
  let doneEnd = 0;

  const emitDecided = (emit: (event: ChoiceEvent) => void, { isLast }: { isLast: boolean }): void => {
    for (;;) {
      const isAfterThought = hasAnswer || hasThought();
      const marks = isAfterThought || thoughtEnd === undefined ? everywhere : [thoughtEnd, ...everywhere];
      const text = buffer.slice(doneEnd, buffer.end);
      const [at, mark] = findFirstMark(text, marks);
      const endAt = mark === undefined ? end.exec(text)?.index : undefined;
      const emittedLength =
        mark !== undefined
          ? at
          : (endAt ?? text.length - (isLast ? 0 : countPossibleMarkChars(text, [...marks, ...endMarks])));
      doneEnd += emittedLength;
      buffer.emitUntil(doneEnd, emit);
      if (endAt !== undefined && isLast) {
        doneEnd = buffer.end;
        buffer.dropUntil(doneEnd);
      }
      if (mark === undefined) return;
      doneEnd += mark.length;
      buffer.dropUntil(doneEnd);
      if (isAfterThought || mark !== thoughtEnd) continue;
      hasAnswer = true;
      const takesText: LateThought = keepsThoughts ? 'kept' : 'dropped';
      emit({ type: 'reasoning', choice, text: '', tokens: 0, takesText });
    }
  };

  return {
    push(event, emit) {
      if (event.type === 'text') {
        buffer.push(event);
        return emitDecided(emit, { isLast: false });
      }
      emitDecided(emit, { isLast: true });
      if (event.type === 'tool-call') hasAnswer = true;
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
