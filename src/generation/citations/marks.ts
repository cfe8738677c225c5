import type { CitationForm } from '../../core/server-tools.ts';

/** Sources are numbered from 1: `[0, 1]` and `[0]` are the text's own. */
const NUMBER = '[1-9]\\d{0,2}';

/** A source, or a row of them: `3`, `ref_2`, `citation:1`, `1-3`. */
const SOURCES = `(?:\\^|ref[_ ]?|(?:source|citation)s?(?:: ?| ))?${NUMBER}(?:[-‐-―~～]${NUMBER})?`;

/** What some models put behind the number, such as `†source` and `†L10-L12`. */
const PLACE = '†[^[\\]【】\\n]{0,120}';

/** Also theirs, of a numbering that is not ours. */
const STRANGE = '\\d{1,3}:\\d{1,3}';

/** One or several numbers as models write them to cite: `[1]`, `[ref_2]`, `[1, 3-5]`, `【4†source】`, `[^5]`. A link's text is none. */
const MARK = `[\\[【] ?(?:${SOURCES}(?: ?[,、，;] ?${SOURCES}){0,9} ?(?:${PLACE})?|${STRANGE}${PLACE})[\\]】](?!\\()`;

const FIRST = new RegExp(`^${MARK}`, 'i');

export const ANY_MARK = new RegExp(MARK, 'gi');

/** How long the mark is that a text begins with; 0 where it begins with none. */
export const markLength = (text: string): number => FIRST.exec(text)?.[0].length ?? 0;

/** A mark, or what says where code and lines are. A text is split by it: every second part is one of these. */
export const MARK_OR_CODE = new RegExp(`(${MARK}|\`+|~{3,}|\n)`, 'i');

/** What a mark points at, 0 for what is no source of ours; nothing where a row runs backwards or is long, which is no mark. */
export function numbersOf(mark: string): number[] {
  const [named = ''] = mark.split('†');
  if (/^\D ?\d{1,3}:\d/.test(named)) return [0];
  const rows = [...named.matchAll(/(\d+)(?:[-‐-―~～](\d+))?/g)].map(([, first, last]) => ({
    first: Number(first),
    length: last === undefined ? 1 : Number(last) - Number(first) + 1,
  }));
  if (rows.some(({ length }) => length < 1 || length > ROW_MAX)) return [];
  return rows.flatMap(({ first, length }) => Array.from({ length }, (_, i) => first + i));
}

/** Ours: sources that a row such as `[1-3]` names; a longer one is rather an interval. */
const ROW_MAX = 10;

export const writeMark = (index: number, form: Exclude<CitationForm, 'attached'>): string =>
  form === 'number' ? `[${index}]` : `[ref_${index}]`;

/** Blanks in a row that may belong to the mark behind them. */
const BLANKS_MAX = 40;

/** Longer than any mark with the blanks before it. */
export const MARK_CHARS_MAX = 384;

/** Whether a text may be blanks and the beginning of a mark. What is longer than MARK_CHARS_MAX never is. */
export const mayBecomeMark = (text: string): boolean => OPEN.test(text);

const OPEN = new RegExp(`^[ \\t\\r]{0,${BLANKS_MAX}}(?:[\\[【][^\\]】\\n]{0,340})?$`);

/** Blanks at the beginning of a text that a mark, or the line's end, may follow. */
export const blanksLength = (text: string): number => BLANKS.exec(text)?.[0].length ?? 0;

const BLANKS = new RegExp(`^[ \\t\\r]{0,${BLANKS_MAX}}`);

/** Blanks at the end of a text that go with a mark behind it. */
export const trailingBlanks = (text: string): number => TRAILING.exec(text)?.[0].length ?? 0;

const TRAILING = new RegExp(`[ \\t\\r]{0,${BLANKS_MAX}}$`);

/**
 * How much of a text can be said though it goes on: up to what may be the beginning of a mark, or a mark that may be a link's
 * text, or backticks and tildes that may become more.
 */
export const freeOfMarks = (text: string): number => HELD.exec(text)?.index ?? text.length;

const HELD = new RegExp(`(?:[ \\t\\r]{0,${BLANKS_MAX}}(?:[\\[【][^[\\]【】\\n]{0,340}[\\]】]?)?|\`+|~+)$`);
