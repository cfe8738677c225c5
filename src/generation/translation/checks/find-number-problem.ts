import { readUnit } from './units.ts';

/** A number as a text writes it. */
interface WrittenNumber {
  readonly text: string;
  /**
   * Possible meanings as decimal numbers: `1.234` is 1234 or 1.234, a number before `million` is multiplied, a time is its
   * hours and minutes in a row, also in 24 hours.
   */
  readonly values: readonly string[];
  readonly unit: string | undefined;
}

/** Numbers up to this one are often written as words, and words as such numbers. */
const WORD_NUMBER_MAX = 12;

/**
 * Reports whether a translation writes a number differently or with another unit, and returns these numbers of the
 * source. Separators, times in 24 hours and words for thousands and millions do not matter, nor does the order.
 * Undefined when all numbers agree.
 */
export function findNumberProblem(source: string, translation: string): readonly string[] | undefined {
  const remaining = [...listNumbers(translation)];
  const wrong: string[] = [];
  for (const number of listNumbers(source)) {
    const same = remaining.filter(({ values }) => values.some((value) => number.values.includes(value)));
    const match = same.find(({ unit }) => unit === number.unit) ?? same.find((other) => !hasOtherUnit(number, other));
    if (match) remaining.splice(remaining.indexOf(match), 1);
    else if (same.length > 0 || !isWordNumber(number)) wrong.push(number.text);
  }
  return wrong.length > 0 || remaining.some(isInvented) ? wrong : undefined;
}

const hasOtherUnit = ({ unit }: WrittenNumber, other: WrittenNumber): boolean =>
  unit !== undefined && other.unit !== undefined && unit !== other.unit;

const isWordNumber = ({ values }: WrittenNumber): boolean =>
  Number.isInteger(Number(values[0])) && Number(values[0]) >= 0 && Number(values[0]) <= WORD_NUMBER_MAX;

/** Whether a number that the source lacks has no short word: `fifty` and `two hundred` may become numbers. */
const isInvented = ({ values }: WrittenNumber): boolean => Number(values[0]) > 100 && Number(values[0]) % 100 !== 0;

/** Digits with separators between them: also blanks before groups of three, and the hours of a time. */
const NUMBER =
  /(?<!\p{Nd})\p{Nd}{1,3}(?:[ \u00a0\u202f]\p{Nd}{3}(?!\p{Nd}))+(?:[.,]\p{Nd}+)?|\p{Nd}{1,2}\s?h\s?\p{Nd}{2}(?!\p{Nd})|\p{Nd}+(?:[.,:'’٫٬]\p{Nd}+)*/gu;

/** Text before a number that makes it negative. A dash after a blank-free word or number is none. */
const MINUS = /(?:(?:^|[\s(])[-−–]|(?:minus|moins|menos|meno|минус|マイナス|零下|负|負|영하)\s?)$/iu;

/** Factors of words after a number. */
const FACTORS: readonly (readonly [RegExp, number])[] = [
  [/^[\s-]?(?:thousand|tausend|mil(?:le)?(?!\p{L})|тысяч\p{L}*|千(?![米克瓦])|천)/iu, 1e3],
  [/^\s?(?:万|萬|만)/u, 1e4],
  [/^[\s-]?(?:百万|百萬|백만|milli?on\p{L}*|mill?ones|milh\p{L}+|milion\p{L}*|миллион\p{L}*|млн)/iu, 1e6],
  [/^\s?(?:亿|億|억)/u, 1e8],
  [/^[\s-]?(?:十亿|十億|십억|billions?|milliard\p{L}*|miliard\p{L}*|миллиард\p{L}*|млрд)(?!\p{L})/iu, 1e9],
];

const AFTERNOON = /^\s?p\.?\s?m\b/i;

function listNumbers(text: string): readonly WrittenNumber[] {
  return Array.from(text.matchAll(NUMBER)).flatMap(({ 0: written, index }): readonly WrittenNumber[] => {
    const digits = toAsciiDigits(written);
    // Dates and versions have no groups of three: each of their numbers counts.
    if (/^\d+(?:[.,]\d+){2,}$/.test(digits) && !GROUPED.test(digits))
      return digits.split(/[.,]/).map((part) => ({ text: written, values: [formatValue(part)], unit: undefined }));
    const end = index + written.length;
    const after = text.slice(end, end + WORD_CHARS_MAX);
    const { factor, length } = readFactor(after);
    const sign = MINUS.test(text.slice(Math.max(0, index - WORD_CHARS_MAX), index)) ? -1 : 1;
    const values = [
      ...listMeanings(digits).map((value) => formatValue(Number(value) * factor * sign)),
      ...(AFTERNOON.test(after) ? listAfternoonValues(digits) : []),
    ];
    const unit = readUnit(text, { start: index, end: end + length });
    return [{ text: written + (unit === undefined ? '' : (UNIT_TEXT.exec(after)?.[0] ?? '')), values, unit }];
  });
}

/** Groups of three after the first, with one sign between them, and perhaps decimals after another one. */
const GROUPED = /^\d{1,3}(?:([.,'])\d{3})(?:\1\d{3})*(?:(?!\1)[.,]\d+)?$/;

/** Lists the decimal numbers that digits with separators can be. */
function listMeanings(digits: string): readonly string[] {
  if (/^\d{1,2}(?::|\s?h\s?)\d{2}/.test(digits)) return [digits.replace(/\D/g, '')];
  const plain = digits.replace(/\s/g, '');
  const grouped = GROUPED.exec(plain);
  const meanings = grouped ? [plain.replaceAll(grouped[1] ?? '', '').replace(',', '.')] : [];
  return /^\d+(?:[.,]\d+)?$/.test(plain)
    ? [...meanings, plain.replace(',', '.')]
    : meanings.length > 0
      ? meanings
      : [plain];
}

/** Formats a number so that equal ones are equal texts. */
const formatValue = (value: string | number): string => String(Number(Number(value).toPrecision(12)));

/** Characters after a number in which its word is looked for. */
const WORD_CHARS_MAX = 20;

function readFactor(after: string): { readonly factor: number; readonly length: number } {
  for (const [pattern, factor] of FACTORS) {
    const word = pattern.exec(after)?.[0];
    if (word !== undefined) return { factor, length: word.length };
  }
  return { factor: 1, length: 0 };
}

function listAfternoonValues(digits: string): readonly string[] {
  const [, hour, minute = '00'] = /^(\d{1,2})(?:[:.](\d{2}))?$/.exec(digits) ?? [];
  if (hour === undefined) return [];
  const hour24 = String((Number(hour) % 12) + 12);
  return [hour24 + minute, ...(minute === '00' ? [hour24] : [])];
}

const UNIT_TEXT = /^\s?(?:°\s?\p{L}|\p{L}+(?:\/\p{L}+)?|%)/u;

/** Writes digits and separators of other scripts in ASCII. */
const toAsciiDigits = (text: string): string =>
  text
    .replaceAll('٫', '.')
    .replaceAll('٬', ',')
    .replaceAll('’', "'")
    .replace(/\p{Nd}/gu, (digit) => {
      const code = digit.codePointAt(0) ?? 0;
      // Each script has its ten digits in a row.
      let zero = code;
      while (/\p{Nd}/u.test(String.fromCodePoint(zero - 1)) && code - zero < 9) zero--;
      return String(code - zero);
    });
