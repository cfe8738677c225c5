import { normalizeChineseNumbers } from './chinese-numbers.ts';
import { NUMBER_WORDS } from './number-words.ts';

/** The parts of a text that can be compared with another text. */
export interface Claims {
  /** Normalized numbers: `1,200` and `1.200` are `1200`, `3,50` is `3.5`. */
  readonly numbers: ReadonlySet<string>;
  /** Stems of names. */
  readonly names: ReadonlySet<string>;
  /** Stems of content words, including names; pairs of characters for scripts without spaces. */
  readonly words: ReadonlySet<string>;
}

/**
 * Reads the claims of a sentence. Its first word, which is always capitalized, is a name unless it is a common word.
 */
export const readClaims = (sentence: string): Claims => parse(sentence, { isVocabulary: false });

/** Reads the vocabulary of a text that sentences are compared with: every word may match a name. */
export const readVocabulary = (text: string): Claims => parse(text, { isVocabulary: true });

function parse(text: string, { isVocabulary }: { readonly isVocabulary: boolean }): Claims {
  const numbers = new Set<string>();
  const names = new Set<string>();
  const words = new Set<string>();
  const normal = normalizeChineseNumbers(text.normalize('NFKC'));
  const hasCapitalNames = !isVocabulary && !GERMAN_FUNCTION_WORDS.test(normal);
  let isFirst = true;
  for (const { 0: token, index, groups } of normal.matchAll(TOKEN)) {
    if (groups?.number !== undefined) {
      numbers.add(normalizeNumber(token, normal.slice(Math.max(0, index - 2), index)));
    } else if (groups?.signs !== undefined) {
      for (const pair of splitIntoPairs(token)) words.add(pair);
    } else {
      const stem = stemWord(token);
      const isName =
        !isVocabulary && (isCoinedName(token) || (hasCapitalNames && isCapital(token) && canBeName(token, isFirst)));
      if (isName) names.add(stem);
      if (isVocabulary || isName || isContentWord(token)) words.add(stem);
    }
    isFirst = false;
  }
  return { numbers, names, words };
}

/** Whether a word looks like a coined name, such as `A380`, `NATO` or `iPhone`. */
const isCoinedName = (token: string): boolean => /\p{N}|\p{L}\p{Lu}/u.test(token);

/** Whether most of a text is in a script without spaces, so that words cannot be told apart. */
export const isUnspaced = (text: string): boolean => (text.match(SIGNS)?.join('').length ?? 0) * 2 > text.length;

const SIGN_CLASS = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー';
const SIGNS = new RegExp(`[${SIGN_CLASS}]+`, 'gu');
/** Matches a run of signs of an unspaced script, a number, or a word. */
export const TOKEN = new RegExp(
  `(?<signs>[${SIGN_CLASS}]+)|(?<number>\\p{Nd}+(?:[.,'’]\\p{Nd}+)*)|[\\p{L}--[${SIGN_CLASS}]][[\\p{L}\\p{M}\\p{Nd}]--[${SIGN_CLASS}]]*(?:['’]\\p{L}+)?`,
  'gv',
);

/** Frequent German words: German capitalizes all nouns, so a capital does not mean a name. */
const GERMAN_FUNCTION_WORDS =
  /(?<![\p{L}])(?:der|die|das|und|ist|ein|eine|nicht|mit|von|den|dem|wird|wurde)(?![\p{L}])/u;

const isCapital = (token: string): boolean => /^\p{Lu}/u.test(token);

/** Whether a capitalized word can be a name; excludes common words and, at the start of a sentence, typical endings. */
const canBeName = (token: string, isFirst: boolean): boolean => {
  const lower = token.toLowerCase();
  if (isCommonWord(token) || NUMBER_WORDS.has(lower) || token.length < 2) return false;
  return !isFirst || !/(?:ly|ing|tions?|ments?|ers|ists|ants)$/.test(lower);
};

const isContentWord = (token: string): boolean => token.length > 3 && !isCommonWord(token);

/** Whether a word occurs in any text. */
export const isCommonWord = (token: string): boolean => COMMON_WORDS.has(token.toLowerCase());

/** Words that occur in any text, and typical first words of sentences. Parley's own list. */
const COMMON_WORDS: ReadonlySet<string> = new Set(
  (
    'a an the and or but if then than that this these those there here it its they them their he she his her hers him we us our you your i ' +
    'me my is are was were be been being am do does did done has have had having can could may might must shall should will would not no ' +
    'nor so as at by for from in into of off on onto out over to up with without about above after again against all also although always ' +
    'among an another any because before below between both during each either every few first further however just last less like many ' +
    'more most much near nearly never next now only other others own per rather same several since some soon still such then thereby ' +
    'therefore though through thus today together too toward towards tomorrow under until upon usually very what when where whether which ' +
    'while who whom whose why within yes yesterday yet according instead moreover furthermore meanwhile currently recently generally ' +
    'overall visitors people source sources result results page answer based ' +
    'aber auch auf aus bei bis das dass dem den der des die ein eine einem einen einer eines für hat ihr im ist mit nach nicht noch oder ' +
    'kein keine keinem keinen keiner keines nie niemals nichts sein sich sie sind über um und unter von vor war werden wie wird zu zum zur ' +
    'au aux avec ce cette ces dans de des du elle en est et il la le les leur mais ne ou par pas plus pour que qui sa se ses son sont sur ' +
    'un une como con del el los las más para pero por que ser son sus'
  ).split(' '),
);

/**
 * Normalizes a number: separators between groups of three digits are removed, another separator is a decimal point.
 *
 * @param before The two characters before the number, which may be a sign or a decimal point.
 */
export function normalizeNumber(token: string, before: string): string {
  const digits = toAsciiDigits(token);
  const isGrouped = /^[1-9]\d{0,2}(?:[.,'’]\d{3})+$/.test(digits);
  const [whole = '', ...parts] = isGrouped ? [digits.replaceAll(/\D/g, '')] : digits.split(/\D/);
  const part = parts.join('.').replace(/(?<!0)0+$/, '');
  // `.5` is one half, not five.
  if (/(?:^|[\s(])\.$/.test(before)) return `0.${digits}`;
  const isNegative = /(?:^|[\s(])[-−]$/.test(before);
  const normalizedNumber = whole.replace(/^0+(?=\d)/, '') + (part === '' ? '' : `.${part}`);
  return isNegative ? `-${normalizedNumber}` : normalizedNumber;
}

const toAsciiDigits = (text: string): string =>
  text.replaceAll(/[^\P{Nd}0-9]/gu, (digit) => String(getDigitValue(digit.codePointAt(0) ?? 0)));

/** Returns the value of a decimal digit; each script has its ten digits in a row that starts with zero. */
function getDigitValue(code: number): number {
  let zero = code;
  while (code - zero < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero--;
  return code - zero;
}

function splitIntoPairs(run: string): string[] {
  const signs = [...run];
  return signs.length === 1 ? signs : signs.slice(1).map((sign, i) => (signs[i] ?? '') + sign);
}

/** Removes English inflections, some of which other languages share. */
export function stemWord(token: string): string {
  const lower = token.toLowerCase().replace(/['’]s?$|['’]s$/, '');
  if (lower.length < 4 || /\p{Nd}/u.test(lower)) return lower;
  const base = lower
    .replace(/ies$/, 'y')
    .replace(/(?<=[^s])s$/, '')
    .replace(/(?<=[\p{L}]{3})(?:ing|ed|ly)$/u, '')
    .replace(/(?<=[\p{L}]{3})e$/u, '');
  return base.replace(/([bdgklmnprt])\1$/u, '$1');
}
