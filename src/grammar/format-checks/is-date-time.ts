/** Tells whether a text is a `full-date` of RFC 3339, section 5.6. */
export function isDate(text: string): boolean {
  const [, year, month, day] = /^([0-9]{4})-([0-9]{2})-([0-9]{2})$/.exec(text)?.map(Number) ?? [];
  if (year === undefined || month === undefined || day === undefined) return false;
  return month >= 1 && month <= 12 && day >= 1 && day <= countDays(year, month);
}

function countDays(year: number, month: number): number {
  if (month !== 2) return [4, 6, 9, 11].includes(month) ? 30 : 31;
  return year % 4 === 0 && (year % 100 !== 0 || year % 400 === 0) ? 29 : 28;
}

/** Tells whether a text is a `full-time` of RFC 3339. Second 60 is valid at 23:59 UTC only (section 5.7). */
export function isTime(text: string): boolean {
  const match = /^([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.[0-9]+)?(?:Z|([+-])([0-9]{2}):([0-9]{2}))$/i.exec(text);
  if (!match) return false;
  const [hour = 0, minute = 0, second = 0] = match.slice(1, 4).map(Number);
  const [offsetHour = 0, offsetMinute = 0] = match.slice(5, 7).map((digits) => Number(digits ?? 0));
  if (hour > 23 || minute > 59 || second > 60 || offsetHour > 23 || offsetMinute > 59) return false;
  if (second < 60) return true;
  const offset = (match[4] === '-' ? -1 : 1) * (offsetHour * 60 + offsetMinute);
  return (hour * 60 + minute - offset + 2 * MINUTES_PER_DAY) % MINUTES_PER_DAY === MINUTES_PER_DAY - 1;
}

const MINUTES_PER_DAY = 24 * 60;

/** Tells whether a text is a `date-time` of RFC 3339. */
export const isDateTime = (text: string): boolean =>
  /^.{10}T/i.test(text) && isDate(text.slice(0, 10)) && isTime(text.slice(11));

/**
 * Tells whether a text is a `duration` of ISO 8601: any units in order, seconds with a fraction if they have one; weeks
 * stand alone. RFC 3339, appendix A, demands units without gaps: `PT1H30S` would have no notation.
 */
export const isDuration = (text: string): boolean => DURATION.test(text);

const DURATION =
  /^P(?:[0-9]+W|(?=.)(?:[0-9]+Y)?(?:[0-9]+M)?(?:[0-9]+D)?(?:T(?=.)(?:[0-9]+H)?(?:[0-9]+M)?(?:[0-9]+(?:[.,][0-9]+)?S)?)?)$/;
