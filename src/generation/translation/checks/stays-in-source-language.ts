import type { Language } from '../languages.ts';

/** Languages that share so many words or signs that equal words prove nothing. */
const RELATED: readonly (readonly string[])[] = [
  ['zh', 'zh_tw', 'yue', 'ja'],
  ['da', 'nb', 'nn', 'sv'],
  ['sr', 'hr', 'bs', 'sl', 'mk', 'bg'],
  ['ms', 'id'],
  ['es', 'pt', 'gl', 'ast', 'ca', 'oc', 'it'],
  ['cs', 'sk'],
  ['ru', 'uk', 'be'],
  ['hi', 'mr', 'ne', 'mai'],
  ['nl', 'af'],
  ['ar', 'arz', 'acm', 'ary', 'ars', 'apc', 'ajp', 'acq', 'aeb', 'ur', 'fa'],
];

/** Share of the translation's words that the source has too, from which a sentence counts as untranslated. */
const COPIED_SHARE_MIN = 0.6;

/** Copied words from which a sentence counts as untranslated: fewer may be names. */
const COPIED_WORDS_MIN = 3;

/**
 * Reports whether most words of a translation are words of the source. Words that must stay count as neither. False for
 * related languages, and for a source whose language is unknown.
 */
export function staysInSourceLanguage(
  source: string,
  translation: string,
  { from, to, kept }: { readonly from: Language | undefined; readonly to: Language; readonly kept: readonly string[] },
): boolean {
  if (!from || from.code === to.code || RELATED.some((group) => group.includes(from.code) && group.includes(to.code)))
    return false;
  const keptWords = new Set(kept.flatMap((text) => listWords(text, to)));
  const sourceWords = new Set(listWords(source, from));
  const words = listWords(translation, to).filter((word) => !keptWords.has(word));
  const copied = words.filter((word) => sourceWords.has(word));
  return copied.length >= COPIED_WORDS_MIN && copied.length >= COPIED_SHARE_MIN * words.length;
}

/** Lists the words in lower case, without those that begin with a capital inside the text: they may be names. */
function listWords(text: string, { code }: Language): readonly string[] {
  const segmenter = new Intl.Segmenter(code.split('_')[0], { granularity: 'word' });
  return Array.from(segmenter.segment(text)).flatMap(({ segment, isWordLike, index }) => {
    const isName = index > 0 && /^\p{Lu}/u.test(segment);
    return isWordLike && !isName && /\p{L}/u.test(segment) ? [segment.toLowerCase()] : [];
  });
}
