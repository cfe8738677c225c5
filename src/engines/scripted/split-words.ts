/** Splits a text into words, each with the blanks before it. Blanks at the end belong to no word. */
export const splitWords = (text: string): string[] =>
  // Without blanks at its end, the text is read once: the expression would try each of them as the start of a word.
  text.trimEnd().match(/\s*\S+/g) ?? [];
