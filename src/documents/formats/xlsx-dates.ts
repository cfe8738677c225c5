import { readMarkup } from '../read-markup.ts';

/** Indexes of the cell styles that display a number as a date. */
export interface DateStyles {
  readonly dateStyleIndexes: ReadonlySet<number>;
  readonly isFrom1904: boolean;
}

// Number formats that files use without declaring them (ECMA-376, part 1, 18.8.30).
const BUILT_IN_DATE_FORMATS = new Set([
  14, 15, 16, 17, 18, 19, 20, 21, 22, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 45, 46, 47,
]);

const MS_PER_DAY = 86_400_000;

/** Day 0 of the two date systems. */
const EPOCH_1900 = Date.UTC(1899, 11, 30);
const EPOCH_1904 = Date.UTC(1904, 0, 1);

/** 31 December 9999, the last day that a sheet can display. */
const DAY_MAX = 2_958_466;

export function readDateStyles(
  bytes: Uint8Array | undefined,
  { isFrom1904 }: Pick<DateStyles, 'isFrom1904'>,
): DateStyles {
  const styles = new Set<number>();
  if (!bytes) return { dateStyleIndexes: styles, isFrom1904 };
  const formats = new Set(BUILT_IN_DATE_FORMATS);
  let isInCells = false;
  let index = 0;
  readMarkup(bytes, 'xml', {
    open(name, { numFmtId, formatCode }) {
      if (name === 'numFmt' && isDateFormat(formatCode ?? '')) formats.add(Number(numFmtId));
      else if (name === 'cellXfs') isInCells = true;
      else if (name === 'xf' && isInCells) {
        if (formats.has(Number(numFmtId))) styles.add(index);
        index++;
      }
    },
    close(name) {
      if (name === 'cellXfs') isInCells = false;
    },
  });
  return { dateStyleIndexes: styles, isFrom1904 };
}

/** Whether a format code displays a date, ignoring quoted text, colors and escaped characters. */
const isDateFormat = (code: string): boolean =>
  /[ymdhs]/i.test(code.slice(0, 1_000).replaceAll(/"[^"]*"|\[[^\]]*\]|[\\_*]./g, '')) && !/^general$/i.test(code);

/** Formats a number as date or time of day; returns undefined if its style displays a number. */
export function formatDateCell(
  value: string,
  style: number,
  { dateStyleIndexes, isFrom1904 }: DateStyles,
): string | undefined {
  if (!dateStyleIndexes.has(style)) return undefined;
  const days = Number(value);
  if (!Number.isFinite(days) || days < 0 || days > DAY_MAX) return undefined;
  const isoTime = new Date(Math.round((isFrom1904 ? EPOCH_1904 : EPOCH_1900) + days * MS_PER_DAY)).toISOString();
  const [date = '', time = ''] = isoTime.slice(0, 19).split('T');
  if (days < 1) return time;
  return Number.isInteger(days) ? date : `${date} ${time}`;
}
