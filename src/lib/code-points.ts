/** How many characters a text has, a pair of surrogates being one. Without taking it apart: it may be as long as a body. */
export function countCodePoints(text: string): number {
  let count = 0;
  for (let at = 0; at < text.length; count++) at += (text.codePointAt(at) ?? 0) > 0xffff ? 2 : 1;
  return count;
}
