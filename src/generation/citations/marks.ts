import type { CitationForm } from '../../core/server-tools.ts';

/** Sources are numbered from 1: `[0, 1]` and `[0]` are the text's own. */
const NUMBER = '(?:\\^|ref[_ ]?|source )?[1-9]\\d{0,2}';

/** One or several numbers as models write them to cite: `[1]`, `[ref_2]`, `[1, 3]`, `【4】`, `[^5]`. A link's text is none. */
const MARK = `[\\[【] ?${NUMBER}(?: ?[,、，;] ?${NUMBER}){0,9} ?[\\]】](?!\\()`;

const FIRST = new RegExp(`^${MARK}`, 'i');

/** How long the mark is that a text begins with; 0 where it begins with none. */
export const markLength = (text: string): number => FIRST.exec(text)?.[0].length ?? 0;

/** A mark, or what says where code and lines are. A text is split by it: every second part is one of these. */
export const MARK_OR_CODE = new RegExp(`(${MARK}|\`+|~{3,}|\n)`, 'i');

export const numbersOf = (mark: string): number[] => (mark.match(/\d+/g) ?? []).map(Number);

export const writeMark = (index: number, form: Exclude<CitationForm, 'attached'>): string =>
  form === 'number' ? `[${index}]` : `[ref_${index}]`;

/** Blanks in a row that may belong to the mark behind them. */
const BLANKS_MAX = 40;

/** Longer than any mark with the blanks before it. */
export const MARK_CHARS_MAX = 256;

/** Whether a text may be blanks and the beginning of a mark. What is longer than MARK_CHARS_MAX never is. */
export const mayBecomeMark = (text: string): boolean => OPEN.test(text);

const OPEN = new RegExp(`^[ \\t\\r]{0,${BLANKS_MAX}}(?:[\\[【][^\\]】\\n]{0,200})?$`);

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

const HELD = new RegExp(`(?:[ \\t\\r]{0,${BLANKS_MAX}}(?:[\\[【][^[\\]【】\\n]{0,200}[\\]】]?)?|\`+|~+)$`);
