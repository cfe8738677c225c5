import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

/**
 * Reports an answer whose text shows the mark of a call: the model meant a call that could not be parsed, or wrote about
 * calls. All text is emitted unchanged, as soon as it arrives.
 *
 * @param marks Texts with which calls start.
 */
export function createUnparsedCallStage(marks: readonly string[]): Stage<ChoiceEvent, ChoiceEvent> {
  const keptMax = Math.max(0, ...marks.map(({ length }) => length)) - 1;
  /** The end of the text, which may be the start of a mark. */
  let recent = '';
  let hasMark = false;
  return {
    push(event, emit) {
      if (event.type === 'text' && !hasMark) {
        recent += event.text;
        hasMark = marks.some((mark) => recent.includes(mark));
        recent = keptMax > 0 ? recent.slice(-keptMax) : '';
      } else if (event.type === 'tool-call') recent = '';
      emit(event.type === 'choice-end' && hasMark ? { ...event, hasUnparsedCall: true } : event);
    },
    end() {
      // This stage holds nothing back.
    },
  };
}
