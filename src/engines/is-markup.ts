/** Text between symbols that are no emoji: `<tool_call>`, `]~b]`, `>>PREFIX<<`, `<|"|>`. The letter excludes `[...]`. */
const ENCLOSED = /^([\p{P}\p{Sm}\p{Sc}\p{Sk}]+)\S*[\p{L}\p{N}]\S*[\p{P}\p{Sm}\p{Sc}\p{Sk}]$|^<\|\S+\|>$/u;

/** Elements of HTML that Gemma's vocabularies define. Its templates use none of them, but users' texts do. */
const HTML_ELEMENT =
  /^<\/?(?:table|caption|thead|tbody|tfoot|tr|th|td|h[1-6]|blockquote|strong|em|b|i|u|sub|sup|code|p|br|ul|ol|li)>$/;

/**
 * Whether a token that the vocabulary matches in every text is a mark between texts, which users' texts must not become.
 * Other such tokens are ordinary text: blanks, line breaks, words, single symbols and emoji. SentencePiece spells a blank
 * as U+2581.
 */
export function isMarkup(token: string): boolean {
  const text = token.replaceAll(/^[\s\u2581]+|[\s\u2581]+$/g, '');
  return ENCLOSED.test(text) && !HTML_ELEMENT.test(text);
}
