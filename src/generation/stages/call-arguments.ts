import { ServiceError } from '../../core/error.ts';
import type { ChoiceEvent } from '../../core/event.ts';
import type { Stage } from './stage.ts';
import { handleCheckResult, type CheckResult, type HoldBatch } from './check-result.ts';
import { isRecord } from '../../lib/is-record.ts';

export interface CallArgumentsOptions {
  /** Whether arguments of this tool are emitted in one piece when they are complete. */
  readonly isBuffered: (tool: string) => boolean;
  /** Whether Parley itself reads the arguments of this tool, whatever they are: it reports a call without a program. */
  readonly isUnchecked: (tool: string) => boolean;
  /** No grammar guarantees that arguments are an object, so they are checked before they are emitted. */
  readonly lacksGrammar: boolean;
  /** Whether the text of the current event was generated without a tool's grammar. */
  readonly isUnconstrained: () => boolean;
  /** Describes what is wrong with a call's arguments; undefined when nothing is. */
  readonly checkArguments: (tool: string, argumentsText: string, isFree: boolean) => CheckResult;
  readonly holdBatch: HoldBatch;
}

/**
 * Checks the arguments of each call when they are complete.
 *
 * @throws ServiceError `engine-failed`, directly or through `holdBatch`, when they do not match the tool's schema:
 *   callers must not run a tool with them.
 */
export function createCallArgumentsStage(options: CallArgumentsOptions): Stage<ChoiceEvent, ChoiceEvent> {
  const { isUnchecked, lacksGrammar, isUnconstrained, checkArguments, holdBatch } = options;
  const isHeld = (tool: string): boolean => !isUnchecked(tool) && (lacksGrammar || options.isBuffered(tool));
  let open: { readonly name: string; readonly isBuffered: boolean; text: string; isUnconstrained: boolean } | undefined;

  const emitBuffered = (choice: number, index: number, emit: (event: ChoiceEvent) => void): void => {
    if (open?.isBuffered && open.text !== '') emit({ type: 'tool-arguments', choice, index, text: open.text });
  };
  let position = { choice: 0, index: 0 };

  const complete = (emit: (event: ChoiceEvent) => void): void => {
    if (!open) return;
    const { name } = open;
    if (isUnchecked(name)) {
      open = undefined;
      return;
    }
    if (lacksGrammar) {
      const object = toObjectText(open.text);
      if (object === undefined) throw createArgumentsError(name, 'they are not a JSON object');
      open.text = object;
    }
    handleCheckResult(checkArguments(name, open.text, open.isUnconstrained), holdBatch, (problem) =>
      createArgumentsError(name, problem),
    );
    emitBuffered(position.choice, position.index, emit);
    open = undefined;
  };

  return {
    push(event, emit) {
      switch (event.type) {
        case 'tool-call':
          complete(emit);
          open = { name: event.name, isBuffered: isHeld(event.name), text: '', isUnconstrained: false };
          position = event;
          return emit(event);
        case 'tool-arguments':
          if (open) {
            open.text += event.text;
            open.isUnconstrained ||= isUnconstrained();
          }
          if (!open?.isBuffered) emit(event);
          return;
        case 'text':
        case 'reasoning':
          // An event with empty text only counts the tokens of markup.
          if (event.text !== '') complete(emit);
          return emit(event);
        case 'choice-end':
          // A token limit cut the answer: incomplete arguments are emitted without a check.
          if (event.reason === 'length') emitBuffered(position.choice, position.index, emit);
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
 * Returns the text of an arguments object. Models write an object or a string that contains one; blank text, `null`
 * and a blank string are the empty object. Undefined for everything else.
 */
function toObjectText(text: string): string | undefined {
  if (text.trim() === '') return '{}';
  const value = parseJson(text);
  if (value === null) return '{}';
  if (typeof value !== 'string') return isRecord(value) ? text : undefined;
  if (value.trim() === '') return '{}';
  return isRecord(parseJson(value)) ? value : undefined;
}

/** Returns undefined for text that is not JSON. */
function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

const createArgumentsError = (name: string, problem: string): ServiceError =>
  new ServiceError('engine-failed', `The model called ${name} with arguments that are not valid: ${problem}.`);
