import { REPEATED_LINE_CHARS_MAX } from '../../core/limits.ts';
import { lookFor } from './line-pattern.ts';
import type { LinePattern, Look, Verdict } from './line-pattern.ts';
import { createOpenText } from './open-text.ts';
import type { Seen } from './seen-text.ts';

/** What surrounds a gap. */
interface Gap {
  readonly prefix: string;
  readonly suffix: string;
}

/** Lines that go on with what was begun before the block, or stand at the left wherever they are, in whatever language. */
const GOES_ON =
  /^(?:[)\]}#]|<\/|\/\/|(?:end|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|case|default|fi|done|esac)\b)/;

/** No word of those above is longer. */
const WORD_CHARS_MAX = 9;

/** A line that only says what it is called. */
const LABEL = /^\w+:\s*$/;

/** What may become one. Names are shorter. */
const LABEL_BEGUN = /^\w{1,80}(?::\s{0,80})?$/;

/**
 * Finds where a filling leaves the block that the gap lies in, because the text after the gap does so itself: a line indented
 * no further than the next one there, unless it closes what the block belongs to, or is part of a string of several lines.
 * Undefined where no line comes after.
 *
 * For one choice: on an empty line it is the first line of the filling that says how far the block is indented.
 */
export function createBlockEnd({ prefix, suffix }: Gap): Look | undefined {
  const line = prefix.slice(prefix.lastIndexOf('\n') + 1);
  const next = nextLine(line, suffix);
  if (next === undefined) return undefined;
  const outside = indentOf(next).length;
  const closing = next.trim().slice(0, REPEATED_LINE_CHARS_MAX);
  const isLong = closing.length < next.trim().length;
  let inside = line === '' ? undefined : indentOf(line).length;

  const open = createOpenText();
  for (const character of prefix) open.take(character);
  let taken = 0;
  // Of a text that was seen before, the last character may not have been taken: nothing was looked for behind it.
  const takeUpTo = ({ text, from, before }: Seen, at: number): void => {
    for (; taken < from + at; taken++) open.take(text[taken - from] ?? before);
  };

  const leaves = ({ text, isLast }: Seen, from: number): Verdict => {
    // What is longer than anything compared says no more.
    const behind = text.slice(from, from + 2 * REPEATED_LINE_CHARS_MAX);
    const end = behind.indexOf('\n');
    const isWhole = end >= 0 || isLast;
    const said = end < 0 ? behind : behind.slice(0, end);
    if (!isWhole && said.length <= WORD_CHARS_MAX) return 'open';
    if (!GOES_ON.test(said)) {
      if (!isWhole && LABEL_BEGUN.test(said)) return 'open';
      return LABEL.test(said) ? 'no' : 'found';
    }
    if (isLong && said.startsWith(closing)) return 'found';
    if (!isLong && said.trimEnd() === closing) return isWhole ? 'found' : 'open';
    return !isWhole && closing.startsWith(said) ? 'open' : 'no';
  };

  return (seen, at) => {
    takeUpTo(seen, at);
    const { text, before, isLast } = seen;
    const isStart = before === '' && at === 0;
    const first = seen.blankEnd(at);
    if (!isStart && first === at) return 'no';
    if (first === text.length) return isLast ? 'no' : 'open';
    const from = seen.lineStart(at);
    if (isStart) inside ??= first - (from ?? 0);
    if (from === undefined || inside === undefined || inside <= outside || first - from > outside) return 'no';
    return open.isOpen() ? 'no' : leaves(seen, first);
  };
}

/**
 * Finds the rest of the gap's line and the next one, however short: `;` and `}` are a repetition where they end the block.
 * Undefined where the line has no rest, or the next one does not leave the block.
 */
export function closingOf({ prefix, suffix }: Gap): Look | undefined {
  const line = prefix.slice(prefix.lastIndexOf('\n') + 1);
  const rest = /^[^\n]*/.exec(suffix)?.[0].trimEnd() ?? '';
  const next = nextLine(line, suffix);
  if (line === '' || rest === '' || next === undefined) return undefined;
  const indent = indentOf(next);
  if (indent.length >= indentOf(line).length) return undefined;
  const pattern = closingPattern(rest, indent, next.trim());
  return (seen, at) => lookFor(pattern, seen, at);
}

/** What is too long to be written by chance says enough by its beginning. */
function closingPattern(rest: string, indent: string, next: string): LinePattern {
  const [first, last] = [rest, next].map((each) => each.slice(0, REPEATED_LINE_CHARS_MAX));
  if (first === undefined || last === undefined || first !== rest)
    return { parts: [rest.slice(0, REPEATED_LINE_CHARS_MAX)], endsLine: false, partsAtEnd: Infinity };
  return { parts: [rest, { indent }, last], endsLine: last === next, partsAtEnd: 3 };
}

/** The first line after the gap that says something. On an empty line it may begin in the gap itself. */
const nextLine = (line: string, suffix: string): string | undefined =>
  suffix
    .split('\n')
    .slice(line === '' ? 0 : 1)
    .find((each) => each.trim() !== '');

const indentOf = (line: string): string => /^\s*/.exec(line)?.[0] ?? '';
