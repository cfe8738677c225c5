import type { TextBuffer } from '../stages/text-buffer.ts';
import type { CallBodyParser } from './call-body-parser.ts';

/** A call whose markup is being parsed. */
export interface OpenCall {
  readonly body: CallBodyParser;
  /** Index of the markup that may follow the call. */
  readonly tail: number;
  /** Position up to which the arguments were emitted; undefined before the first of them. */
  emittedEnd: number | undefined;
}

type CallText = Pick<TextBuffer, 'slice'>;

/** Tells whether a part of the arguments has been parsed to its end and was not emitted yet. */
export const hasArgumentsLeft = ({ body, emittedEnd }: OpenCall): boolean =>
  emittedEnd === undefined || emittedEnd < (body.argumentsEnd ?? 0);

/** Takes the rest of the arguments, up to their end or `position`: `{}` for a call without any. */
export function takeRemainingArguments(call: OpenCall, text: CallText, position: number): string {
  const { body, emittedEnd } = call;
  const to = body.argumentsEnd ?? position;
  const rest = body.argumentsStart === undefined ? '' : text.slice(emittedEnd ?? body.argumentsStart, to);
  call.emittedEnd = to;
  const isEmpty = rest === '' || (body.isScalar && (rest === 'null' || rest === '""'));
  return emittedEnd === undefined && isEmpty ? '{}' : rest;
}

/**
 * Takes the part of the arguments that is certain while the call is still parsed. A value that is not an object may turn
 * out to be null or empty, which is emitted as `{}`; so no part of it is certain.
 *
 * @returns undefined when text that precedes `position` is still needed.
 */
export function takeCertainArguments(call: OpenCall, text: CallText, position: number): string | undefined {
  const { body, emittedEnd } = call;
  if (body.argumentsStart === undefined || body.argumentsEnd !== undefined) return '';
  if (body.isScalar) return undefined;
  call.emittedEnd = position;
  return text.slice(emittedEnd ?? body.argumentsStart, position);
}

/** Returns the part of the arguments before `position` that was not emitted yet, for a call that a token limit cut. */
export const getCutArguments = ({ body, emittedEnd }: OpenCall, text: CallText, position: number): string =>
  body.argumentsStart === undefined ? '' : text.slice(emittedEnd ?? body.argumentsStart, position);
