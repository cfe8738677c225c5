/** A date or time without a zone: taken as UTC, on whatever machine. */
const WITHOUT_ZONE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?)?$/;

/** Years that a publication may be of; what is outside is a default of some program's. */
const [EARLIEST, LATEST] = [Date.UTC(1990, 0, 1), Date.UTC(2100, 0, 1)];

/** UTC milliseconds of a date as ISO 8601 or a mail's header writes it; undefined for all else. */
export function readDate(text: string | null | undefined): number | undefined {
  const trimmed = text?.trim() ?? '';
  // The runtime makes dates of nearly anything, `Page 7` among it.
  if (!/^(?:\d{4}-\d\d-\d\d|[A-Z][a-z]{2}, \d{1,2} [A-Z][a-z]{2} \d{4})/.test(trimmed) || trimmed.length > 40)
    return undefined;
  const ms = Date.parse(
    WITHOUT_ZONE.test(trimmed) ? `${trimmed.replace(' ', 'T')}${/:/.test(trimmed) ? 'Z' : ''}` : trimmed,
  );
  return ms >= EARLIEST && ms < LATEST ? ms : undefined;
}
