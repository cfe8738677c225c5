/** A date, with or without time, that has no time zone. It is taken as UTC on every machine. */
const WITHOUT_TIME_ZONE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/;

/** Plausible publication dates, in UTC milliseconds. Others are default values of some program. */
const [EARLIEST, LATEST] = [Date.UTC(1990, 0, 1), Date.UTC(2100, 0, 1)];

/**
 * Parses an ISO 8601 date or an RFC 5322 date (as in e-mail headers) to UTC milliseconds; undefined for other texts.
 */
export function parsePublicationDate(text: string | null | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  // Date.parse accepts nearly any text, such as `Page 7`.
  if (!/^(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4})/.test(trimmed) || trimmed.length > 40)
    return undefined;
  const ms = Date.parse(
    WITHOUT_TIME_ZONE.test(trimmed) ? `${trimmed.replace(' ', 'T')}${/:/.test(trimmed) ? 'Z' : ''}` : trimmed,
  );
  return ms >= EARLIEST && ms < LATEST ? ms : undefined;
}
