import { ServiceError } from '../../core/error.ts';
import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { handleCheckResult, type CheckResult, type HoldBatch } from './check-result.ts';

export interface FormatCheckOptions {
  /** Whether the text of the current event was generated without a grammar. */
  readonly isUnconstrained: () => boolean;
  /** Describes what is wrong with the answer; undefined when nothing is. */
  readonly checkText: (text: string, isFree: boolean) => CheckResult;
  readonly holdBatch: HoldBatch;
}

/**
 * Checks a complete answer against the requested format. An answer that a token limit or a stop sequence cut is not
 * checked: its finish reason shows it.
 *
 * @throws ServiceError `engine-failed`, directly or through `holdBatch`, so that a wrong answer never looks complete.
 */
export function createFormatCheckStage({
  isUnconstrained,
  checkText,
  holdBatch,
}: FormatCheckOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const pieces: string[] = [];
  let hasUnconstrained = false;
  return {
    push(event, emit) {
      if (event.type === 'text') {
        pieces.push(event.text);
        hasUnconstrained ||= event.text !== '' && isUnconstrained();
      }
      if (event.type === 'choice-end' && event.reason === 'stop' && event.stop === undefined)
        handleCheckResult(checkText(pieces.join(''), hasUnconstrained), holdBatch, createFormatError);
      emit(event);
    },
    end() {
      pieces.length = 0;
    },
  };
}

const createFormatError = (problem: string): ServiceError =>
  new ServiceError('engine-failed', `The model's answer does not follow response_format: ${problem}.`);
