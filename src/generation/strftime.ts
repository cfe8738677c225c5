const MONTHS = [
  'January',
  'February',
  'March',
  'April',
  'May',
  'June',
  'July',
  'August',
  'September',
  'October',
  'November',
  'December',
] as const;

const DAYS = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'] as const;

const DAY_MS = 86_400_000;

/** Number of letters in an abbreviated name. */
const ABBREVIATION_LENGTH = 3;

const padZeros = (value: number, digits = 2): string => String(value).padStart(digits, '0');

const getMonthName = (date: Date): string => MONTHS[date.getUTCMonth()] ?? '';
const getWeekdayName = (date: Date): string => DAYS[date.getUTCDay()] ?? '';
const getDayOfYear = (date: Date): number => {
  const yearStartMs = Date.UTC(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - yearStartMs) / DAY_MS) + 1;
};

/** The directives of the C library's `strftime` that chat templates use. */
const DIRECTIVES: ReadonlyMap<string, (date: Date) => string> = new Map([
  ['Y', (date: Date) => String(date.getUTCFullYear())],
  ['y', (date: Date) => padZeros(date.getUTCFullYear() % 100)],
  ['m', (date: Date) => padZeros(date.getUTCMonth() + 1)],
  ['d', (date: Date) => padZeros(date.getUTCDate())],
  ['B', getMonthName],
  ['b', (date: Date) => getMonthName(date).slice(0, ABBREVIATION_LENGTH)],
  ['A', getWeekdayName],
  ['a', (date: Date) => getWeekdayName(date).slice(0, ABBREVIATION_LENGTH)],
  ['H', (date: Date) => padZeros(date.getUTCHours())],
  ['M', (date: Date) => padZeros(date.getUTCMinutes())],
  ['S', (date: Date) => padZeros(date.getUTCSeconds())],
  ['j', (date: Date) => padZeros(getDayOfYear(date), 3)],
  ['%', () => '%'],
]);

/**
 * Formats a date in UTC and English, so that prompts do not depend on the machine. Unknown directives stay as they
 * are.
 */
export const strftime = (date: Date, format: string): string =>
  format.replace(/%(.)/gs, (directive: string, letter: string) => DIRECTIVES.get(letter)?.(date) ?? directive);
