/**
 * Writes Chinese numerals in digits: `五个` as `5个`, `三百万` and `300万` as `3000000`, `百分之五` as `5%`. Leaves a
 * single `一`, which is often an article, and numerals that may be a part of a word or no exact number (`五六个`).
 *
 * @param text In NFKC form.
 */
export const normalizeChineseNumbers = (text: string): string =>
  text
    .replaceAll(SCALED_DIGITS, (_, digits: string, scales: string) => scaleDigits(digits, scales))
    .replaceAll(PERCENTAGE, (found, numeral: string) => {
      const value = parseNumeral(numeral);
      return value === undefined ? found : `${value}%`;
    })
    .replaceAll(COUNTED, parseOrKeep)
    .replaceAll(LARGE, parseOrKeep);

const parseOrKeep = (numeral: string): string => parseNumeral(numeral) ?? numeral;

const SCALES: Readonly<Record<string, number>> = {
  十: 10,
  百: 100,
  千: 1_000,
  万: 10_000,
  萬: 10_000,
  亿: 100_000_000,
  億: 100_000_000,
};

const DIGITS = '零一二三四五六七八九';

const SIGN = '[零〇一二两兩三四五六七八九十百千万萬亿億]';

/** Matches `300万`, `1.5亿` and `1,200万`. */
const SCALED_DIGITS = /(?<![\d.,])(\d{1,20}(?:,\d{3}){0,6}(?:\.\d{1,20})?) ?([百千]?[万萬亿億])/g;

const PERCENTAGE = new RegExp(`百分之(${SIGN}{1,20})(?!${SIGN})`, 'g');

/** Words that count things, and units. `十分` alone means `very`. */
const COUNTER =
  '(?:[个個名位人次种項项条條件台辆輛座层層页頁章节行列天日月年周週秒米吨克元円块倍度级級代版家间間本张張只头匹艘架届期轮步组組对双份套部篇岁歳回つ号]|小时|小時|时|時|分钟|分鐘|毫秒|微秒|公里|千米|厘米|公斤|千克|美元|欧元|英镑|世纪|世紀|字节|线程|进程|连接)';

/** Not after `几` and `数`, which make a number inexact. */
const COUNTED = new RegExp(
  `(?<![几幾数數]|${SIGN})(?:(?!一${COUNTER})${SIGN}{1,20}|(?<=[第月])一)(?= ?${COUNTER})`,
  'g',
);

/** A numeral such as `三百万` is a number without a counter too. */
const LARGE = new RegExp(`(?<![几幾数數]|${SIGN})[一二两兩三四五六七八九]${SIGN}{0,18}[百千万萬亿億](?!${SIGN})`, 'g');

/** Rounds to the digits that a number holds exactly, so that `1.1万` is 11000. */
const scaleDigits = (digits: string, scales: string): string =>
  String(
    Number(
      [...scales]
        .reduce((value, scale) => value * (SCALES[scale] ?? 1), Number(digits.replaceAll(',', '')))
        .toPrecision(15),
    ),
  );

/** Returns the digits of a numeral; undefined if it is not one exact number. */
function parseNumeral(text: string): string | undefined {
  const numeral = text.replaceAll('〇', '零').replaceAll(/[两兩]/g, '二');
  // A year is a row of digits.
  if (/^[零一二三四五六七八九]{3,}$/.test(numeral)) return [...numeral].map((sign) => DIGITS.indexOf(sign)).join('');
  let total = 0;
  let section = 0;
  let digit: number | undefined;
  let lastScale = 1;
  for (const sign of numeral) {
    const scale = SCALES[sign];
    if (sign === '零') lastScale = 1;
    else if (scale === undefined) {
      if (digit !== undefined) return undefined;
      digit = DIGITS.indexOf(sign);
    } else {
      const factor = digit ?? (scale === 10 ? 1 : 0);
      if (scale <= 1_000 && factor === 0) return undefined;
      if (scale <= 1_000) section += factor * scale;
      else {
        const sum = section + (digit ?? 0);
        if (total + sum === 0) return undefined;
        total = scale === 10_000 ? total + sum * scale : (total + sum) * scale;
        section = 0;
      }
      digit = undefined;
      lastScale = scale;
    }
  }
  // `三百五` means 350.
  if (digit !== undefined && lastScale > 10) return undefined;
  return String(total + section + (digit ?? 0));
}
