/** Counts the Unicode code points of a text without allocating memory: the text may be as long as a request body. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}
