/** Quotation marks that small models put around a translation. */
const QUOTES: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['“', '”'],
  ['„', '“'],
  ['«', '»'],
  ['「', '」'],
];

/**
 * Reports whether a line only announces a translation: it ends in a colon, and the source ends like a sentence. The
 * translation of a heading or salutation may itself end in a colon.
 */
export const isAnnouncement = (line: string, source: string): boolean =>
  /[:：]\s*$/.test(line) && /[.!?…。！？]["'”’»）)」』]*\s*$/.test(source);

/**
 * Extracts the translation of a line from an answer: its first nonempty line, or the next line after an announcement,
 * without quotation marks that the model added.
 */
export function extractTranslation(answer: string, source: string): string {
  const [first = '', second] = answer.split(/[\r\n]+/).filter((each) => each.trim() !== '');
  const line = (second !== undefined && isAnnouncement(first, source) ? second : first).trim();
  const pair = QUOTES.find(([open, close]) => line.length > 1 && line.startsWith(open) && line.endsWith(close));
  if (!pair || QUOTES.some(([open]) => source.startsWith(open))) return line;
  const inside = line.slice(pair[0].length, -pair[1].length);
  // In `"One" and "two"` the first quotation ends before the last one starts.
  return pair.some((sign) => inside.includes(sign)) ? line : inside.trim();
}
