import { FENCED_MARKS, FOREIGN_MARKS, FUNCTION_TAGS } from '../call-program.ts';
import { END_TOKENS } from '../end-tokens.ts';
import { WRAPPER_ENDS } from '../separate-parts.ts';
import { splitTags } from '../split-enclosure.ts';
import { isObjectFormat, type ToolFormat } from '../tool-formats.ts';

const B = '[ \\t\\n\\v\\f\\r]*';
const MEMBER = `(?:"type"${B}:${B}"function"|"(?:id|tool_call_id)"${B}:${B}(?:"[\\w-]*"|[\\w-]*))${B},${B}`;
const escape = (text: string): string => RegExp.escape(text);
/** Matches a text with any number of blanks where it has some, and around its tags. */
const loose = (text: string): string =>
  splitTags(text)
    .map((word) => escape(word) + B)
    .join('');
/** Stands for any token that ends a turn. */
const END_TOKEN = '';
const sticky = (source: string): RegExp => new RegExp(source, 'y');

interface Shape {
  readonly head: RegExp;
  /** Start of the next call in the same list; undefined when there is none. */
  readonly next: RegExp | undefined;
  readonly end: RegExp;
  readonly isObject: boolean;
  readonly needsLineStart: boolean;
}

interface Span {
  readonly name: string;
  readonly arguments: string;
  readonly end: number;
}

/**
 * Parses calls like createToolCallStage, in a slow but simple way: with the complete text, regular expressions for the
 * markup and a loop for the JSON.
 */
export function readWithPatterns(
  text: string,
  format: ToolFormat,
  names: readonly string[],
): { content: string[]; calls: { name: string; arguments: string }[] } {
  const shapes = createShapes(format, names);
  const content: string[] = [];
  const calls: { name: string; arguments: string }[] = [];
  let pendingText = '';
  let isLineStart = true;
  for (let at = 0; at < text.length;) {
    const matchedHead = firstHead(text, at, isLineStart, shapes);
    if (!matchedHead) {
      const character = text.charAt(at++);
      pendingText += character;
      if (!/[ \t\n\v\f\r]/.test(character)) isLineStart = false;
      else if (character === '\n') isLineStart = true;
      continue;
    }
    content.push(pendingText.replace(/[ \t\n\v\f\r]+$/, ''));
    pendingText = '';
    isLineStart = true;
    at = readAll(text, matchedHead.shape, matchedHead.found, (call) => {
      if (calls.length >= content.length) content.push('');
      calls.push(call);
    });
  }
  return { content: [...content, pendingText], calls };
}

/** Reads the calls of one list and returns the position after its markup. */
function readAll(text: string, shape: Shape, head: RegExpExecArray, found: (call: { name: string; arguments: string }) => void): number {
  for (let match = head; ; ) {
    const span = readBody(text, match, shape);
    found({ name: span.name, arguments: span.arguments });
    const next = shape.next && execAt(shape.next, text, span.end);
    if (next) {
      match = next;
      continue;
    }
    return span.end + (execAt(shape.end, text, span.end)?.[0].length ?? 0);
  }
}

function firstHead(text: string, at: number, isLineStart: boolean, shapes: readonly Shape[]) {
  let best: { shape: Shape; found: RegExpExecArray } | undefined;
  for (const shape of shapes) {
    if (shape.needsLineStart && !isLineStart) continue;
    const found = execAt(shape.head, text, at);
    if (found && (!best || found[0].length < best.found[0].length)) best = { shape, found };
  }
  return best;
}

function execAt(pattern: RegExp, text: string, at: number): RegExpExecArray | undefined {
  pattern.lastIndex = at;
  return pattern.exec(text) ?? undefined;
}

function readBody(text: string, head: RegExpExecArray, { isObject }: Shape): Span {
  const name = head.groups?.name ?? '';
  let at = head.index + head[0].length;
  if (head.groups?.closed !== undefined) return { name, arguments: '{}', end: at };
  let argumentsText: string | undefined;
  const value = (isArguments: boolean): void => {
    at += execAt(sticky(B), text, at)?.[0].length ?? 0;
    const end = findValueEnd(text, at);
    if (isArguments && end > at) argumentsText = text.slice(at, end);
    at = end;
  };
  if (head.groups?.value !== undefined) value(true);
  while (isObject && at < text.length) {
    at += execAt(sticky('[ \\t\\n\\v\\f\\r,]*'), text, at)?.[0].length ?? 0;
    if (text[at] === '}') {
      at++;
      break;
    }
    const key = execAt(/"((?:[^"\\]|\\[^])*)("|$)/y, text, at);
    if (!key) break;
    at += key[0].length;
    const colon = execAt(sticky(`${B}:`), text, at);
    if (!colon) {
      at += execAt(sticky(B), text, at)?.[0].length ?? 0;
      break;
    }
    at += colon[0].length;
    value(argumentsText === undefined && (key[1] === 'arguments' || key[1] === 'parameters'));
  }
  return { name, arguments: argumentsText === undefined || argumentsText === 'null' || argumentsText === '""' ? '{}' : argumentsText, end: at };
}

function findValueEnd(text: string, from: number): number {
  const string = /"(?:[^"\\]|\\[^])*(?:"|\\?$)/y;
  const first = text[from];
  if (first === '"') return from + (execAt(string, text, from)?.[0].length ?? 0);
  if (first !== '{' && first !== '[') return from + (execAt(/[\w.+-]*/y, text, from)?.[0].replace(/_.*$/s, '').length ?? 0);
  let depth = 0;
  for (let at = from; at < text.length; at++) {
    const character = text.charAt(at);
    if (character === '"') at += (execAt(string, text, at)?.[0].length ?? 1) - 1;
    else if ('{['.includes(character)) depth++;
    else if (']}'.includes(character) && --depth === 0) return at + 1;
  }
  return text.length;
}

function createShapes(format: ToolFormat, names: readonly string[]): Shape[] {
  const name = `(?<name>${names.map(escape).join('|')})`;
  const anyName = '(?<name>[\\w.-]{1,64})';
  const createObject = (namePattern: string): string => `\\{${B}(?:${MEMBER})*"name"${B}:${B}"${namePattern}"`;
  const object = createObject(name);
  const guessed = `${object}${B}(?:(?<value>,${B}"(?:arguments|parameters)"${B}:)|(?<closed>\\}))`;
  const fence = `\`\`\`(?:json|JSON|xml|tool_call)?${B}`;
  const separator = `${B}(?:\\}${B})?(?:[,;]${B})?`;
  const optional = (texts: readonly string[]): string => `(?:(?:${texts.map(escape).join('|')})${B})?`;
  const ends = (closings: readonly string[]): string => B + closings.map((closing) => optional(closing === END_TOKEN ? END_TOKENS : [closing])).join('');
  const pair = (opening: string, call: string, closings: readonly string[], needsLineStart = false): Shape[] =>
    [false, true].map((isList) => ({
      head: sticky(opening + (isList ? `\\[${B}` : '') + call),
      next: sticky(separator + call),
      end: sticky(ends(['}', ...(isList ? [']'] : []), ...closings])),
      isObject: true,
      needsLineStart,
    }));
  const createParts = (
    { begin, before, between, closings }: Pick<ToolFormat, 'begin' | 'before' | 'between' | 'closings'>,
    acceptsAny = false,
  ): Shape => ({
    head: sticky(
      `${begin === '' ? '' : `(?:${loose(begin)})?`}${loose(before)}(?:${name}${B}(?:${loose(between)}|(?=\\{))${acceptsAny ? `|${anyName}${B}${loose(between)}` : ''})(?<value>)${before.startsWith('<function') ? '(?=\\{|</function>)' : ''}`,
    ),
    next: undefined,
    end: sticky(ends(['}', ...closings.filter((closing) => closing !== END_TOKEN), ...WRAPPER_ENDS, END_TOKEN])),
    isObject: false,
    needsLineStart: false,
  });
  const anyOf = (texts: readonly string[]): string => `(?:${texts.map(escape).join('|')})`;
  const foreignClosings = FOREIGN_MARKS.flatMap(([, ...closings]) => closings);
  const withArguments = `${object}${B}(?<value>,${B}"(?:arguments|parameters)"${B}:)`;
  return [
    ...(isObjectFormat(format)
      ? format.openings.flatMap((opening) => pair(escape(opening) + B, createObject(anyName), [...format.closings, END_TOKEN]))
      : [
          createParts({ ...format, closings: [...format.closings, END_TOKEN] }, true),
          ...format.openings
            .filter((opening) => !FOREIGN_MARKS.some(([mark]) => mark === opening))
            .flatMap((opening) => pair(escape(opening) + B, guessed, format.closings)),
        ]),
    ...pair(`${anyOf(FOREIGN_MARKS.map(([opening]) => opening))}${B}(?:${fence})?`, guessed, ['```', ...foreignClosings]),
    ...pair(`${fence}${anyOf(FENCED_MARKS.filter((mark) => !format.openings.includes(mark)))}${B}(?:${fence})?`, guessed, ['```', ...foreignClosings, '```']),
    ...FUNCTION_TAGS.map((parts) => createParts({ ...parts, closings: [...parts.closings, END_TOKEN] })),
    ...(/^\[?\{/.test(format.begin + format.before) ? pair('', withArguments, [END_TOKEN]) : []),
    ...pair(fence, guessed, ['```']),
    ...pair('', guessed, [END_TOKEN], true),
  ];
}
