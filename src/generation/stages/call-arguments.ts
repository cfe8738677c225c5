import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { heed } from './verdict.ts';
import type { Verdict, Verify } from './verdict.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

export interface CallArgumentsNeeds {
  /** Arguments of this tool are told when they are complete, in one piece. */
  readonly isHeld: (tool: string) => boolean;
  /** No grammar of a tool held the text of the event that is just pushed. */
  readonly isFree: () => boolean;
  /** What is wrong with a call's arguments, some of which may be free; undefined when nothing is. */
  readonly problemOf: (tool: string, argumentsText: string, isFree: boolean) => Verdict;
  readonly verify: Verify;
}

/**
 * Looks at the arguments of each call when they are complete.
 *
 * @throws ServiceError `engine-failed`, here or from what `verify` is given, when they are not what the tool declares:
 *   nobody should run a tool on them.
 */
export function createCallArguments(needs: CallArgumentsNeeds): Stage<ChoiceEvent, ChoiceEvent> {
  const { isHeld, isFree, problemOf, verify } = needs;
  let open: { readonly name: string; readonly isHeld: boolean; text: string; isFree: boolean } | undefined;

  const release = (choice: number, index: number, emit: (event: ChoiceEvent) => void): void => {
    if (open?.isHeld) emit({ type: 'tool-arguments', choice, index, text: open.text });
  };
  let place = { choice: 0, index: 0 };

  const complete = (emit: (event: ChoiceEvent) => void): void => {
    if (!open) return;
    const { name, text } = open;
    heed(problemOf(name, text, open.isFree), verify, (problem) => invalidArguments(name, problem));
    release(place.choice, place.index, emit);
    open = undefined;
  };

  return {
    push(event, emit) {
      switch (event.type) {
        case 'tool-call':
          complete(emit);
          open = { name: event.name, isHeld: isHeld(event.name), text: '', isFree: false };
          place = event;
          return emit(event);
        case 'tool-arguments':
          if (open) {
            open.text += event.text;
            open.isFree ||= isFree();
          }
          if (!open?.isHeld) emit(event);
          return;
        case 'text':
        case 'reasoning':
          // Text without text only counts the tokens of markup.
          if (event.text !== '') complete(emit);
          return emit(event);
        case 'choice-end':
          // Cut by a limit: what there is of the arguments is told as it is.
          if (event.reason === 'length') release(place.choice, place.index, emit);
          else complete(emit);
          open = undefined;
          emit(event);
      }
    },
    end() {
      open = undefined;
    },
  };
}

const invalidArguments = (name: string, problem: string): ServiceError =>
  new ServiceError('engine-failed', `The model called ${name} with arguments that are not valid: ${problem}.`);
