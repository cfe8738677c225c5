import { BATCH_WINDOW_HOURS_MAX, BATCH_WINDOW_HOURS_MIN } from '../limits.ts';
import { createFieldError } from '../../parse.ts';

const HOUR_MS = 3_600_000;

/**
 * Parses a completion window in whole hours or days, such as `24h` or `14d`, to ms.
 * @throws ServiceError `invalid-request`.
 */
export function parseWindowMs(window: string): number {
  const [, digits, unit] = /^(\d{1,3})([hd])$/.exec(window) ?? [];
  const hours = Number(digits ?? Number.NaN) * (unit === 'd' ? 24 : 1);
  if (hours >= BATCH_WINDOW_HOURS_MIN && hours <= BATCH_WINDOW_HOURS_MAX) return hours * HOUR_MS;
  const range = `[${BATCH_WINDOW_HOURS_MIN}h, ${BATCH_WINDOW_HOURS_MAX}h]`;
  throw createFieldError(
    'completion_window',
    `Range of completion_window should be ${range}, in whole hours or days`,
    window,
  );
}

/** Metadata keys that have an effect in Model Studio but none in Parley. */
const IGNORED_KEYS = ['ds_batch_finish_message_queue'];

/** Returns the paths of metadata entries that are stored without having an effect. */
export const listIgnoredMetadata = (metadata: ReadonlyMap<string, string>): readonly string[] =>
  IGNORED_KEYS.filter((name) => metadata.has(name)).map((name) => `metadata.${name}`);
