import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { heed } from './verdict.ts';
import type { Verdict, Verify } from './verdict.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

export interface CheckedTextNeeds {
  /** No grammar held the text of the event that is just pushed. */
  readonly isFree: () => boolean;
  /** What is wrong with the text, some of which may be free; undefined when nothing is. */
  readonly problemOf: (text: string, isFree: boolean) => Verdict;
  readonly verify: Verify;
}

/**
 * Looks at an answer that was to have a form, when it is complete.
 *
 * @throws ServiceError `engine-failed`, here or from what `verify` is given: an answer in another form never looks
 *   finished. One that a limit or a stop sequence cut is told as it is: its finish reason says so.
 */
export function createCheckedText({ isFree, problemOf, verify }: CheckedTextNeeds): Stage<ChoiceEvent, ChoiceEvent> {
  const pieces: string[] = [];
  let hasFree = false;
  return {
    push(event, emit) {
      if (event.type === 'text') {
        pieces.push(event.text);
        hasFree ||= event.text !== '' && isFree();
      }
      if (event.type === 'choice-end' && event.reason === 'stop' && event.stop === undefined)
        heed(problemOf(pieces.join(''), hasFree), verify, otherForm);
      emit(event);
    },
    end() {
      pieces.length = 0;
    },
  };
}

const otherForm = (problem: string): ServiceError =>
  new ServiceError('engine-failed', `The model's answer does not follow response_format: ${problem}.`);
