import { lookFor } from './line-pattern.ts';
import type { LinePattern, Look, Verdict } from './line-pattern.ts';

/** What surrounds a gap. */
interface Gap {
  readonly prefix: string;
  readonly suffix: string;
}

/** Lines that go on with what was begun before the block, in whatever language. */
const GOES_ON =
  /^(?:[)\]}]|<\/|(?:end|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|case|default|fi|done|esac)\b)/;

/** No word of those above is longer. */
const WORD_CHARS_MAX = 9;

/**
 * Finds where a filling leaves the block that the gap lies in, because the text after the gap does so itself: a line indented
 * no further than the next one there, unless it closes what the block belongs to. Undefined where no line comes after.
 *
 * For one choice: on an empty line it is the first line of the filling that says how far the block is indented.
 */
export function createBlockEnd({ prefix, suffix }: Gap): Look | undefined {
  const line = prefix.slice(prefix.lastIndexOf('\n') + 1);
  const next = nextLine(line, suffix);
  if (next === undefined) return undefined;
  const outside = indentOf(next).length;
  let inside = line === '' ? undefined : indentOf(line).length;

  const leaves = (behind: string, isLast: boolean): Verdict => {
    const end = behind.indexOf('\n');
    const isWhole = end >= 0 || isLast;
    const said = end < 0 ? behind : behind.slice(0, end);
    if (!isWhole && said.length <= WORD_CHARS_MAX) return 'open';
    if (!GOES_ON.test(said)) return 'found';
    if (said.trimEnd() === next.trim()) return isWhole ? 'found' : 'open';
    return !isWhole && next.trim().startsWith(said) ? 'open' : 'no';
  };

  return (text, { at, before, isLast }) => {
    const isStart = before === '' && at === 0;
    if (!isStart && !isBlank(text[at])) return 'no';
    let first = at;
    while (first < text.length && isBlank(text[first])) first++;
    if (first === text.length) return isLast ? 'no' : 'open';
    const from = text.lastIndexOf('\n', first - 1) + 1;
    if (isStart) inside ??= first - from;
    if (from <= at || inside === undefined || inside <= outside || first - from > outside) return 'no';
    return leaves(text.slice(first), isLast);
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
  const pattern: LinePattern = { parts: [rest, { indent }, next.trim()], endsLine: true, partsAtEnd: 3 };
  return (text, place) => lookFor(pattern, text, place);
}

/** The first line after the gap that says something. On an empty line it may begin in the gap itself. */
const nextLine = (line: string, suffix: string): string | undefined =>
  suffix
    .split('\n')
    .slice(line === '' ? 0 : 1)
    .find((each) => each.trim() !== '');

const indentOf = (line: string): string => /^\s*/.exec(line)?.[0] ?? '';

const isBlank = (character: string | undefined): boolean => character !== undefined && /\s/.test(character);
