/** What a text says that can be compared with what another one says. */
export interface Claims {
  /** In one notation: `1,200` and `1.200` are `1200`, `3,50` is `3.5`. */
  readonly numbers: ReadonlySet<string>;
  /** Stems of words that name something. */
  readonly names: ReadonlySet<string>;
  /** Stems of the words that carry what is said, names among them; of writing without blanks, pairs of characters. */
  readonly words: ReadonlySet<string>;
}

/** Of a sentence. Whether its first word is a name cannot be seen by its capital: it counts as one unless it is common there. */
export const claimsOf = (sentence: string): Claims => read(sentence, { isWhole: false });

/** Of a text that sentences are compared with: any of its words may be what one of them takes for a name. */
export const vocabularyOf = (text: string): Claims => read(text, { isWhole: true });

function read(text: string, { isWhole }: { readonly isWhole: boolean }): Claims {
  const numbers = new Set<string>();
  const names = new Set<string>();
  const words = new Set<string>();
  const normal = text.normalize('NFKC');
  const hasCapitalNames = !isWhole && !CAPITAL_NOUNS.test(normal);
  let isFirst = true;
  for (const { 0: token, index, groups } of normal.matchAll(TOKEN)) {
    if (groups?.number !== undefined) {
      numbers.add(numberOf(token, normal.slice(Math.max(0, index - 2), index)));
    } else if (groups?.signs !== undefined) {
      for (const pair of pairsOf(token)) words.add(pair);
    } else {
      const stem = stemOf(token);
      const isName = !isWhole && (isCoined(token) || (hasCapitalNames && isCapital(token) && mayName(token, isFirst)));
      if (isName) names.add(stem);
      if (isWhole || isName || carries(token)) words.add(stem);
    }
    isFirst = false;
  }
  return { numbers, names, words };
}

/** Such as `A380`, `NATO` or `iPhone`. */
const isCoined = (token: string): boolean => /\p{N}|\p{L}\p{Lu}/u.test(token);

/** Whether most of a text is in a writing without blanks, where a word is no unit. */
export const isUnspaced = (text: string): boolean => (text.match(SIGNS)?.join('').length ?? 0) * 2 > text.length;

const SIGN = '\\p{Script=Han}\\p{Script=Hiragana}\\p{Script=Katakana}\\p{Script=Hangul}ー';
const SIGNS = new RegExp(`[${SIGN}]+`, 'gu');
const TOKEN = new RegExp(
  `(?<signs>[${SIGN}]+)|(?<number>\\p{Nd}+(?:[.,'’]\\p{Nd}+)*)|[\\p{L}--[${SIGN}]][[\\p{L}\\p{M}\\p{Nd}]--[${SIGN}]]*(?:['’]\\p{L}+)?`,
  'gv',
);

/** Words that say which language this is: one that writes all its nouns with a capital. */
const CAPITAL_NOUNS = /(?<![\p{L}])(?:der|die|das|und|ist|ein|eine|nicht|mit|von|den|dem|wird|wurde)(?![\p{L}])/u;

const isCapital = (token: string): boolean => /^\p{Lu}/u.test(token);

/** Openers of a sentence, and what only looks like a name because it opens one. */
const mayName = (token: string, isFirst: boolean): boolean => {
  const lower = token.toLowerCase();
  if (COMMON.has(lower) || token.length < 2) return false;
  return !isFirst || !/(?:ly|ing|tions?|ments?|ers|ists|ants)$/.test(lower);
};

const carries = (token: string): boolean => token.length > 3 && !COMMON.has(token.toLowerCase());

/** Ours: words that are in any text, and those that sentences begin with. */
const COMMON: ReadonlySet<string> = new Set(
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
    'sein sich sie sind über um und unter von vor war werden wie wird zu zum zur ' +
    'au aux avec ce cette ces dans de des du elle en est et il la le les leur mais ne ou par pas plus pour que qui sa se ses son sont sur ' +
    'un une como con del el los las más para pero por que ser son sus'
  ).split(' '),
);

/** Groups of three digits are one number; otherwise the separator is that of decimals. */
function numberOf(token: string, before: string): string {
  const digits = toAsciiDigits(token);
  const isGrouped = /^[1-9]\d{0,2}(?:[.,'’]\d{3})+$/.test(digits);
  const [whole = '', ...parts] = isGrouped ? [digits.replaceAll(/\D/g, '')] : digits.split(/\D/);
  const part = parts.join('.').replace(/0+$/, '');
  // `.5` is a half, and not five.
  if (/(?:^|[\s(])\.$/.test(before)) return `0.${digits}`;
  const isNegative = /(?:^|[\s(])[-−]$/.test(before);
  const known = whole.replace(/^0+(?=\d)/, '') + (part === '' ? '' : `.${part}`);
  return isNegative ? `-${known}` : known;
}

const toAsciiDigits = (text: string): string =>
  text.replaceAll(/[^\P{Nd}0-9]/gu, (digit) => String(digitOf(digit.codePointAt(0) ?? 0)));

/** Digits of a script stand in a row of ten that begins with zero. */
function digitOf(code: number): number {
  let zero = code;
  while (code - zero < 9 && /^\p{Nd}$/u.test(String.fromCodePoint(zero - 1))) zero--;
  return code - zero;
}

function pairsOf(run: string): string[] {
  const signs = [...run];
  return signs.length === 1 ? signs : signs.slice(1).map((sign, i) => (signs[i] ?? '') + sign);
}

/** Light: endings of English inflection, and what other languages share of them. */
function stemOf(token: string): string {
  const lower = token.toLowerCase().replace(/['’]s?$|['’]s$/, '');
  if (lower.length < 4 || /\p{Nd}/u.test(lower)) return lower;
  const base = lower
    .replace(/ies$/, 'y')
    .replace(/(?<=[^s])s$/, '')
    .replace(/(?<=[\p{L}]{3})(?:ing|ed|ly)$/u, '')
    .replace(/(?<=[\p{L}]{3})e$/u, '');
  return base.replace(/([bdgklmnprt])\1$/u, '$1');
}
