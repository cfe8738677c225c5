import { ServiceError } from '../../core/error.ts';
import type { EngineEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { heed } from './verdict.ts';
import type { Verdict, Verify } from './verdict.ts';

type ChoiceEvent = Exclude<EngineEvent, { type: 'end' }>;

export interface CallArgumentsNeeds {
  /** Arguments of this tool are told when they are complete, in one piece. */
  readonly isHeld: (tool: string) => boolean;
  /** Nothing holds arguments to be an object: they are looked at, and told, when they are complete. */
  readonly isLoose: boolean;
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
  const { isLoose, isFree, problemOf, verify } = needs;
  const isHeld = (tool: string): boolean => isLoose || needs.isHeld(tool);
  let open: { readonly name: string; readonly isHeld: boolean; text: string; isFree: boolean } | undefined;

  const release = (choice: number, index: number, emit: (event: ChoiceEvent) => void): void => {
    if (open?.isHeld && open.text !== '') emit({ type: 'tool-arguments', choice, index, text: open.text });
  };
  let place = { choice: 0, index: 0 };

  const complete = (emit: (event: ChoiceEvent) => void): void => {
    if (!open) return;
    const { name } = open;
    if (isLoose) {
      const object = objectIn(open.text);
      if (object === undefined) throw invalidArguments(name, 'they are no JSON object');
      open.text = object;
    }
    heed(problemOf(name, open.text, open.isFree), verify, (problem) => invalidArguments(name, problem));
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

/**
 * Arguments as the object that they are, or that they are a string of: models write both. Of nothing it is one without
 * members. Undefined for all else.
 */
function objectIn(text: string): string | undefined {
  if (text.trim() === '') return '{}';
  const value = valueOf(text);
  if (value === null) return '{}';
  if (typeof value !== 'string') return isObject(value) ? text : undefined;
  if (value.trim() === '') return '{}';
  return isObject(valueOf(value)) ? value : undefined;
}

const isObject = (value: unknown): boolean => typeof value === 'object' && value !== null && !Array.isArray(value);

/** Undefined for what is no JSON. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const invalidArguments = (name: string, problem: string): ServiceError =>
  new ServiceError('engine-failed', `The model called ${name} with arguments that are not valid: ${problem}.`);
