import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

/**
 * Looks at an answer that was to have a form, when it is complete.
 *
 * @param problemOf What is wrong with the text; undefined when nothing is.
 * @throws ServiceError `engine-failed`: an answer in another form never looks finished. One that a limit or a stop
 *   sequence cut is told as it is: its finish reason says so.
 */
export function createCheckedText(problemOf: (text: string) => string | undefined): Stage<ChoiceEvent, ChoiceEvent> {
  const pieces: string[] = [];
  return {
    push(event, emit) {
      if (event.type === 'text') pieces.push(event.text);
      if (event.type === 'choice-end' && event.reason === 'stop' && event.stop === undefined) {
        const problem = problemOf(pieces.join(''));
        if (problem !== undefined)
          throw new ServiceError('engine-failed', `The model's answer does not follow response_format: ${problem}.`);
      }
      emit(event);
    },
    end() {
      pieces.length = 0;
    },
  };
}
