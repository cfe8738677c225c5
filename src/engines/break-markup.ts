/**
 * Splits a text inside each piece of markup that it contains, after the first character of that piece. Tokenizers that
 * turn such markup into one special token then read it as plain text. Returns the pieces in order, without empty ones.
 */
export function breakMarkup(text: string, markup: readonly string[]): string[] {
  if (text === '') return [];
  const cuts: number[] = [];
  for (const mark of markup)
    for (let at = text.indexOf(mark); at >= 0; at = text.indexOf(mark, at + 1)) cuts.push(at + 1);
  if (cuts.length === 0) return [text];
  const pieces: string[] = [];
  let from = 0;
  for (const cut of cuts.toSorted((a, b) => a - b)) {
    if (cut > from) pieces.push(text.slice(from, cut));
    from = cut;
  }
  pieces.push(text.slice(from));
  return pieces.filter((piece) => piece !== '');
}
