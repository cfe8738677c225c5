import { REPEATED_LINE_CHARS_MAX } from '../limits.ts';
import { matchLinePattern, type LinePattern, type EndDetector, type MatchState } from './line-pattern.ts';
import { createMultilineStringTracker } from './multiline-string-tracker.ts';
import type { TextWindow } from './text-window.ts';

/** The text around a gap that the model fills. */
interface Gap {
  readonly prefix: string;
  readonly suffix: string;
}

/** Matches lines that continue a statement begun before the block, or stand unindented anywhere, in any language. */
const CONTINUATION =
  /^(?:[)\]}#]|<\/|\/\/|(?:end|else|elif|elsif|elseif|except|finally|catch|rescue|ensure|case|default|fi|done|esac)\b)/;

/** Length of the longest word in CONTINUATION. */
const CONTINUATION_WORD_CHARS_MAX = 9;

/** Matches a line that is only a label. */
const LABEL = /^\w+:\s*$/;

/** Matches text that may become a label; names are assumed to have at most 80 characters. */
const LABEL_PREFIX = /^\w{1,80}(?::\s{0,80})?$/;

/**
 * Detects where a filling leaves the block that contains the gap: at a line indented no further than the next line
 * after the gap, which leaves the block too. Lines that close a statement of the block, or are inside a multiline
 * string, do not count.
 *
 * The detector serves one choice: for a gap on an empty line, the filling's first line determines the indentation.
 *
 * @returns undefined when no line follows the gap.
 */
export function createBlockEndDetector({ prefix, suffix }: Gap): EndDetector | undefined {
  const line = prefix.slice(prefix.lastIndexOf('\n') + 1);
  const next = findNextLine(line, suffix);
  if (next === undefined) return undefined;
  const indentOutside = getIndent(next).length;
  const closing = next.trim().slice(0, REPEATED_LINE_CHARS_MAX);
  const isLong = closing.length < next.trim().length;
  let indentInside = line === '' ? undefined : getIndent(line).length;

  const multilineString = createMultilineStringTracker();
  for (const character of prefix) multilineString.push(character);
  let readCount = 0;
  // The last character of an earlier window may be unread: no detection started after it.
  const readUpTo = ({ text, start, previousCharacter }: TextWindow, at: number): void => {
    for (; readCount < start + at; readCount++) multilineString.push(text[readCount - start] ?? previousCharacter);
  };

  const detectBlockEnd = ({ text, isComplete }: TextWindow, from: number): MatchState => {
    // Compared texts are never longer than this.
    const ahead = text.slice(from, from + 2 * REPEATED_LINE_CHARS_MAX);
    const end = ahead.indexOf('\n');
    const isWhole = end >= 0 || isComplete;
    const lineText = end < 0 ? ahead : ahead.slice(0, end);
    if (!isWhole && lineText.length <= CONTINUATION_WORD_CHARS_MAX) return 'open';
    if (!CONTINUATION.test(lineText)) {
      if (!isWhole && LABEL_PREFIX.test(lineText)) return 'open';
      return LABEL.test(lineText) ? 'no' : 'found';
    }
    if (isLong && lineText.startsWith(closing)) return 'found';
    if (!isLong && lineText.trimEnd() === closing) return isWhole ? 'found' : 'open';
    return !isWhole && closing.startsWith(lineText) ? 'open' : 'no';
  };

  return (seen, at) => {
    readUpTo(seen, at);
    const { text, previousCharacter, isComplete } = seen;
    const isStart = previousCharacter === '' && at === 0;
    const first = seen.getBlankEnd(at);
    if (!isStart && first === at) return 'no';
    if (first === text.length) return isComplete ? 'no' : 'open';
    const from = seen.getLineStart(at);
    if (isStart) indentInside ??= first - (from ?? 0);
    if (
      from === undefined ||
      indentInside === undefined ||
      indentInside <= indentOutside ||
      first - from > indentOutside
    )
      return 'no';
    return multilineString.isInside() ? 'no' : detectBlockEnd(seen, first);
  };
}

/**
 * Detects the rest of the gap's line followed by the next line, however short: `;` and `}` are a repetition when they
 * end the block.
 * @returns undefined when the line has no rest, or the next line does not leave the block.
 */
export function createClosingDetector({ prefix, suffix }: Gap): EndDetector | undefined {
  const line = prefix.slice(prefix.lastIndexOf('\n') + 1);
  const rest = /^[^\n]*/.exec(suffix)?.[0].trimEnd() ?? '';
  const next = findNextLine(line, suffix);
  if (line === '' || rest === '' || next === undefined) return undefined;
  const indent = getIndent(next);
  if (indent.length >= getIndent(line).length) return undefined;
  const pattern = createClosingPattern(rest, indent, next.trim());
  return (seen, at) => matchLinePattern(pattern, seen, at);
}

/** A rest that is too long to occur by chance is compared only up to the maximum length. */
function createClosingPattern(rest: string, indent: string, next: string): LinePattern {
  const [first, last] = [rest, next].map((each) => each.slice(0, REPEATED_LINE_CHARS_MAX));
  if (first === undefined || last === undefined || first !== rest)
    return { parts: [rest.slice(0, REPEATED_LINE_CHARS_MAX)], endsLine: false, partsAtEnd: Infinity };
  return { parts: [rest, { indent }, last], endsLine: last === next, partsAtEnd: 3 };
}

/**
 * Returns the first line after the gap that is not blank. When the gap is on an empty line, its own line counts too.
 */
const findNextLine = (line: string, suffix: string): string | undefined =>
  suffix
    .split('\n')
    .slice(line === '' ? 0 : 1)
    .find((each) => each.trim() !== '');

const getIndent = (line: string): string => /^\s*/.exec(line)?.[0] ?? '';
