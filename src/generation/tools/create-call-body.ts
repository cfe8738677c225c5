import type { JsonSchema } from '../../core/grammar.ts';
import { createCallBodyParser } from './call-body-parser.ts';
import type { CallBody, CallText } from './call-body.ts';
import type { MarkupToken } from './call-pattern.ts';
import { createJsonNormalizer } from './json-normalizer.ts';
import { createLiteralsBody } from './literals-body.ts';
import { createTagsBody } from './tags-body.ts';
import type { ToolFormat } from './tool-formats.ts';

/**
 * Creates the parser of a call's arguments in a format.
 *
 * @param parameters Schema of the called tool's arguments.
 */
export function createCallBody(
  { body, isObject }: Extract<MarkupToken, { type: 'call' }>,
  { arguments: syntax, after }: ToolFormat,
  parameters: JsonSchema | undefined,
): CallBody {
  if (isObject || body === 'closed' || body === 'members' || !syntax || syntax.type === 'json')
    return createJsonBody(body === 'members' ? 'members' : 'value', isObject);
  return syntax.type === 'tags' ? createTagsBody(syntax, parameters, after) : createLiteralsBody(syntax, parameters);
}

/** Arguments that are JSON are emitted as the model wrote them; those in Python become JSON. */
function createJsonBody(entry: 'members' | 'value', isObject: boolean): CallBody {
  const parser = createCallBodyParser(entry, isObject);
  const normalizer = createJsonNormalizer();
  /** Position up to which the arguments were taken; undefined before the first of them. */
  let takenEnd: number | undefined;
  const getRest = (text: CallText, to: number): string =>
    parser.argumentsStart === undefined ? '' : normalizer.take(text.slice(takenEnd ?? parser.argumentsStart, to));
  const body: { -readonly [Name in keyof CallBody]: CallBody[Name] } = {
    extraCharacters: 0,
    hasAllArguments: false,
    take(code, at) {
      const state = parser.take(code, at);
      body.hasAllArguments = parser.argumentsEnd !== undefined;
      return state;
    },
    takeCertain(text, position) {
      if (parser.argumentsStart === undefined || parser.argumentsEnd !== undefined) return '';
      // A value that is no object may turn out to be null or empty, which becomes `{}`: no part of it is certain.
      if (parser.isScalar) return undefined;
      const part = getRest(text, position);
      takenEnd = position;
      return part;
    },
    takeRemaining(text, position) {
      const to = parser.argumentsEnd ?? position;
      if (takenEnd !== undefined && takenEnd >= to) return '';
      const rest = getRest(text, to) + normalizer.end();
      const isEmpty = rest === '' || (parser.isScalar && (rest === 'null' || rest === '""'));
      const isFirst = takenEnd === undefined;
      takenEnd = to;
      return isFirst && isEmpty ? '{}' : rest;
    },
    takeCut: (text, position) => getRest(text, position) + normalizer.end(),
  };
  return body;
}
