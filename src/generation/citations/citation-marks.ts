import type { CitationStyle } from '../../core/server-tools.ts';

/** Sources are numbered from 1, so `[0, 1]` and `[0]` are not marks. */
const NUMBER = '[1-9]\\d{0,2}';

/** One source or a range of them: `3`, `ref_2`, `citation:1`, `1-3`. */
const SOURCES = `(?:\\^|ref[_ ]?|(?:source|citation)s?(?:: ?| ))?${NUMBER}(?:[-‐-―~～]${NUMBER})?`;

/** Locations that some models write after the number, such as `†source` and `†L10-L12`. */
const LOCATION = '†[^[\\]【】\\n]{0,120}';

/** A number of a source list that Parley did not provide, as some models write it. */
const FOREIGN_SOURCE = '\\d{1,3}:\\d{1,3}';

/**
 * One or several numbers in the forms that models write: `[1]`, `[ref_2]`, `[1, 3-5]`, `【4†source】`, `[^5]`. Not a
 * link's text.
 */
const MARK = `[\\[【] ?(?:${SOURCES}(?: ?[,、，;] ?${SOURCES}){0,9} ?(?:${LOCATION})?|${FOREIGN_SOURCE}${LOCATION})[\\]】](?!\\()`;

const MARK_AT_START = new RegExp(`^${MARK}`, 'i');

export const ANY_MARK = new RegExp(MARK, 'gi');

/** Returns the length of the mark at the start of a text; 0 when there is none. */
export const getMarkLength = (text: string): number => MARK_AT_START.exec(text)?.[0].length ?? 0;

/** Matches a mark, code delimiters or a line break. Splitting a text by it puts the matches at odd indexes. */
export const MARK_OR_CODE = new RegExp(`(${MARK}|\`+|~{3,}|\n)`, 'i');

/**
 * Returns the source numbers of a mark, 0 for an unknown source. Empty for a reversed or long range: it is not a mark.
 */
export function parseMarkNumbers(mark: string): number[] {
  const [named = ''] = mark.split('†');
  if (/^\D ?\d{1,3}:\d/.test(named)) return [0];
  const ranges = [...named.matchAll(/(\d+)(?:[-‐-―~～](\d+))?/g)].map(([, first, last]) => ({
    first: Number(first),
    length: last === undefined ? 1 : Number(last) - Number(first) + 1,
  }));
  if (ranges.some(({ length }) => length < 1 || length > RANGE_LENGTH_MAX)) return [];
  return ranges.flatMap(({ first, length }) => Array.from({ length }, (_, i) => first + i));
}

/** Most sources in a range such as `[1-3]`; a longer range is probably an interval. Parley's limit. */
const RANGE_LENGTH_MAX = 10;

export const formatMark = (index: number, form: Exclude<CitationStyle, 'attached'>): string =>
  form === 'number' ? `[${index}]` : `[ref_${index}]`;

/** Most blanks that belong to the mark after them. */
const BLANKS_MAX = 40;

/** Longer than any mark with the blanks before it. */
export const MARK_CHARS_MAX = 384;

/** Whether a text can be blanks and the start of a mark. Texts longer than MARK_CHARS_MAX never are. */
export const canBecomeMark = (text: string): boolean => PARTIAL_MARK.test(text);

const PARTIAL_MARK = new RegExp(`^[ \\t\\r]{0,${BLANKS_MAX}}(?:[\\[【][^\\]】\\n]{0,340})?$`);

/** Counts the blanks at the start of a text that a mark or a line end may follow. */
export const countLeadingBlanks = (text: string): number => LEADING_BLANKS.exec(text)?.[0].length ?? 0;

const LEADING_BLANKS = new RegExp(`^[ \\t\\r]{0,${BLANKS_MAX}}`);

/** Counts the blanks at the end of a text that belong to a mark after it. */
export const countTrailingBlanks = (text: string): number => TRAILING_BLANKS.exec(text)?.[0].length ?? 0;

const TRAILING_BLANKS = new RegExp(`[ \\t\\r]{0,${BLANKS_MAX}}$`);

/**
 * Counts the characters that can be emitted before more text arrives: up to the possible start of a mark, a mark that
 * may be a link's text, or backticks and tildes that may continue.
 */
export const countMarkFreeChars = (text: string): number => POSSIBLE_MARK_AT_END.exec(text)?.index ?? text.length;

const POSSIBLE_MARK_AT_END = new RegExp(
  `(?:[ \\t\\r]{0,${BLANKS_MAX}}(?:[\\[【][^[\\]【】\\n]{0,340}[\\]】]?)?|(?<!\`)\`+|(?<!~)~+)$`,
);
