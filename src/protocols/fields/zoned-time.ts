/** Converts between UTC times and text in one time zone. */
export interface ZonedTime {
  /** Formats UTC milliseconds as `YYYY-MM-DD HH:MM:SS`. */
  format(ms: number): string;
  /** Returns the UTC milliseconds of `YYYYMMDDhhmmss`; undefined if there is no such time. */
  parse(digits: string): number | undefined;
}

/** @param zone IANA name of the time zone. @throws RangeError for an unknown zone. */
export function createZonedTime(zone = 'UTC'): ZonedTime {
  const formatter = new Intl.DateTimeFormat('en-GB', {
    timeZone: zone,
    dateStyle: undefined,
    calendar: 'iso8601',
    hourCycle: 'h23',
    year: 'numeric',
    month: '2-digit',
    day: '2-digit',
    hour: '2-digit',
    minute: '2-digit',
    second: '2-digit',
  });
  /** Returns the zone's local time as if it were UTC milliseconds. */
  const toWallClockMs = (ms: number): number => {
    if (zone === 'UTC') return ms;
    const part = Object.fromEntries(formatter.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  return {
    format: (ms) => new Date(toWallClockMs(ms)).toISOString().slice(0, 19).replace('T', ' '),
    parse(digits) {
      const iso = digits.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/, '$1-$2-$3T$4:$5:$6.000Z');
      const wallClockMs = Date.parse(iso);
      // Some parsers turn an invalid date into a later one.
      if (!Number.isFinite(wallClockMs) || new Date(wallClockMs).toISOString() !== iso) return undefined;
      // The offset may differ between the first guess and the result; two iterations correct that.
      let ms = wallClockMs;
      for (let round = 0; round < 2; round += 1) ms = wallClockMs - (toWallClockMs(ms) - ms);
      return ms;
    },
  };
}
