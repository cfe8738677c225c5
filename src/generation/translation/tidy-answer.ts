/** Quotation marks that small models like to put around a translation. */
const QUOTES: readonly (readonly [string, string])[] = [
  ['"', '"'],
  ['“', '”'],
  ['„', '“'],
  ['«', '»'],
  ['「', '」'],
];

/** What of an answer is the translation of a line: its first line that says something, without quotes of the model's own. */
export function tidyAnswer(answer: string, source: string): string {
  const line = (answer.split(/[\r\n]+/).find((each) => each.trim() !== '') ?? '').trim();
  const pair = QUOTES.find(([open, close]) => line.length > 1 && line.startsWith(open) && line.endsWith(close));
  if (!pair || QUOTES.some(([open]) => source.startsWith(open))) return line;
  const inside = line.slice(pair[0].length, -pair[1].length);
  // "One" and "two": the first quotation ends before the last begins.
  return pair.some((sign) => inside.includes(sign)) ? line : inside.trim();
}
