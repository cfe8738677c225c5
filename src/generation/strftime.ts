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

/** Letters of an abbreviated name. */
const SHORT = 3;

const padded = (value: number, digits = 2): string => String(value).padStart(digits, '0');

const monthOf = (date: Date): string => MONTHS[date.getUTCMonth()] ?? '';
const weekdayOf = (date: Date): string => DAYS[date.getUTCDay()] ?? '';
const dayOfYear = (date: Date): number => {
  const yearBegan = Date.UTC(date.getUTCFullYear(), 0, 1);
  return Math.floor((date.getTime() - yearBegan) / DAY_MS) + 1;
};

/** The directives of the C library's `strftime` that chat templates use. */
const DIRECTIVES: ReadonlyMap<string, (date: Date) => string> = new Map([
  ['Y', (date: Date) => String(date.getUTCFullYear())],
  ['y', (date: Date) => padded(date.getUTCFullYear() % 100)],
  ['m', (date: Date) => padded(date.getUTCMonth() + 1)],
  ['d', (date: Date) => padded(date.getUTCDate())],
  ['B', monthOf],
  ['b', (date: Date) => monthOf(date).slice(0, SHORT)],
  ['A', weekdayOf],
  ['a', (date: Date) => weekdayOf(date).slice(0, SHORT)],
  ['H', (date: Date) => padded(date.getUTCHours())],
  ['M', (date: Date) => padded(date.getUTCMinutes())],
  ['S', (date: Date) => padded(date.getUTCSeconds())],
  ['j', (date: Date) => padded(dayOfYear(date), 3)],
  ['%', () => '%'],
]);

/** In UTC and English: a prompt does not depend on the machine it is made on. An unknown directive stays as it is. */
export const strftime = (date: Date, format: string): string =>
  format.replace(/%(.)/gs, (directive: string, letter: string) => DIRECTIVES.get(letter)?.(date) ?? directive);
