/** Counts the negating words of a part of a sentence. Several words of one negation, such as `ne … pas`, count once. */
export const countNegations = (text: string): number => text.replaceAll(NO_NEGATION, ' ').match(NEGATION)?.length ?? 0;

/** Phrases with a negating word that negate nothing: `not only`, `may` and `must` of Japanese. */
const NO_NEGATION =
  /\bnot (?:only|just|merely)\b|(?<!\p{L})(?:nicht (?:nur|bloß)|не только|no s[oó]lo|non solo|não só|non seulement)(?!\p{L})|かもしれ(?:ない|ません)|なければなら(?:ない|ません)|なければなりません|(?:뿐만?|뿐) ?아니라/giu;

const ENGLISH = /\b(?:not|no|never|none|nothing|without|cannot|neither|nor)\b|n['’]t\b|\bnon-(?=\p{L})/u;
const GERMAN = /(?<!\p{L})(?:nicht|nichts|kein(?:e[nmrs]?)?|nie|niemals|ohne)(?!\p{L})/u;
/** Two words around a verb are one negation, as in `no … ninguna`. */
const ROMANCE =
  /(?<!\p{L})(?:(?:ne\s|n['’])[^.;!?]{0,60}?(?<!\p{L})(?:pas|jamais|plus|aucune?|rien|personne|ni)|(?:no|não|non)\s[^.;!?]{0,60}?(?<!\p{L})(?:nunca|jamás|ning[uú]n[ao]?|nada|nadie|tampoco|nenhuma?|ninguém|mai|nessun[ao]?|nulla)|ne pas|jamais|sans(?!-)|não|nunca|jamás|ning[uú]n[ao]?|(?:sin|sem)(?=\s\p{L})|non|nessun[ao]?|senza)(?!\p{L})/u;
/** `никогда не` is one negation, which the second word counts. */
const RUSSIAN = /(?<!\p{L})(?:не|нет|нельзя|без)(?!\p{L})/u;
const CHINESE =
  /不(?![过仅断同但久少只管论止])|没有|沒有|没(?![收落入])|尚未|从未|并未|未(?!来)|并非|(?<![除是无莫])非(?![常洲得])|无法|無法|无需|無需|禁止|勿|(?<![特分级类区个识性辨差鉴告国组派])别(?![的人名处墅样致称说具])/u;
const JAPANESE = /ません|(?<![少危切])ない(?!し)|なかった/u;
const KOREAN = /않|못|없|아니|아닙|(?<!\p{L})안(?= )|지 ?마(?=세요|십시오|라)/u;

const NEGATION = new RegExp(
  // Romance languages first: `no` alone would count the first of two words.
  [ROMANCE, ENGLISH, GERMAN, RUSSIAN, CHINESE, JAPANESE, KOREAN].map(({ source }) => source).join('|'),
  'giu',
);

/**
 * Whether `countNegations` knows the negating words of a text's language: Chinese, Japanese, Korean, a language in
 * Cyrillic letters, or English, German, French, Spanish, Italian or Portuguese, which frequent words show.
 */
export function hasKnownNegations(text: string): boolean {
  const start = text.slice(0, LANGUAGE_CHARS_MAX);
  const letters = start.match(/\p{L}/gu)?.length ?? 0;
  if ((start.match(KNOWN_SCRIPT)?.length ?? 0) * 2 > letters) return true;
  const words = start.match(/\p{L}+/gu) ?? [];
  return words.filter((word) => FREQUENT_WORDS.has(word.toLowerCase())).length > FREQUENT_SHARE_MIN * words.length;
}

const LANGUAGE_CHARS_MAX = 5_000;

const KNOWN_SCRIPT = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Script=Cyrillic}]/gu;

/** Texts in these languages have several times this share of the words below, texts in other languages less. */
const FREQUENT_SHARE_MIN = 0.05;

/** Frequent words of the languages in Latin letters, without those that are frequent in other languages too. */
const FREQUENT_WORDS: ReadonlySet<string> = new Set(
  (
    'the and of are were with from that this it its by which when has have can be been not an as or if but ' +
    'und ist nicht eine einem einen wird wurde mit von dem das auf für sich werden auch ' +
    'le la les des est une dans du que qui pour par sur el los las una del por con para se es ' +
    'il che di è della sono gli um uma do da não com em os'
  ).split(' '),
);
