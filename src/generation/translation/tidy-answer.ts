/** Quotation marks that small models like to put around a translation. */
const QUOTES: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['“', '”'],
  ['„', '“'],
  ['«', '»'],
  ['「', '」'],
];

/**
 * A line that only says that a translation follows: it ends in a colon, and what was to be translated ends as sentences do.
 * The translation of a heading or a salutation may well end in one.
 */
export const isAnnouncement = (line: string, source: string): boolean =>
  /[:：]\s*$/.test(line) && /[.!?…。！？]["'”’»）)」』]*\s*$/.test(source);

/**
 * What of an answer is the translation of a line: its first line that says something, or the next where that only announces
 * it, without quotes of the model's own.
 */
export function tidyAnswer(answer: string, source: string): string {
  const [first = '', second] = answer.split(/[\r\n]+/).filter((each) => each.trim() !== '');
  const line = (second !== undefined && isAnnouncement(first, source) ? second : first).trim();
  const pair = QUOTES.find(([open, close]) => line.length > 1 && line.startsWith(open) && line.endsWith(close));
  if (!pair || QUOTES.some(([open]) => source.startsWith(open))) return line;
  const inside = line.slice(pair[0].length, -pair[1].length);
  // "One" and "two": the first quotation ends before the last begins.
  return pair.some((sign) => inside.includes(sign)) ? line : inside.trim();
}
