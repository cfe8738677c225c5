/** Times as text, in one zone. */
export interface ZonedTime {
  /** `YYYY-MM-DD HH:MM:SS` of UTC milliseconds. */
  show(ms: number): string;
  /** UTC milliseconds of `YYYYMMDDhhmmss`; undefined where there is no such time. */
  read(digits: string): number | undefined;
}

/** @throws RangeError for a zone that nobody knows. */
export function createZonedTime(zone = 'UTC'): ZonedTime {
  const format = new Intl.DateTimeFormat('en-GB', {
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
  /** What a clock on a wall of the zone shows, as if it was UTC. */
  const wall = (ms: number): number => {
    if (zone === 'UTC') return ms;
    const part = Object.fromEntries(format.formatToParts(ms).map(({ type, value }) => [type, Number(value)]));
    const { year = 0, month = 1, day = 1, hour = 0, minute = 0, second = 0 } = part;
    return Date.UTC(year, month - 1, day, hour, minute, second);
  };
  return {
    show: (ms) => new Date(wall(ms)).toISOString().slice(0, 19).replace('T', ' '),
    read(digits) {
      const iso = digits.replace(/^(\d{4})(\d\d)(\d\d)(\d\d)(\d\d)(\d\d)$/, '$1-$2-$3T$4:$5:$6.000Z');
      const shown = Date.parse(iso);
      // What a calendar does not have is moved to another day by some parsers.
      if (!Number.isFinite(shown) || new Date(shown).toISOString() !== iso) return undefined;
      // The zone's distance may be another one at the time that is looked for: twice is near enough.
      let ms = shown;
      for (let round = 0; round < 2; round += 1) ms = shown - (wall(ms) - ms);
      return ms;
    },
  };
}
