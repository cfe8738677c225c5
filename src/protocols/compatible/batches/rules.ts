import { BATCH_WINDOW_HOURS_MAX, BATCH_WINDOW_HOURS_MIN } from '../../../core/limits.ts';
import { refuse } from '../../parse.ts';

const HOUR_MS = 3_600_000;

/** In ms: whole hours or days, as `24h` and `14d`. @throws ServiceError `invalid-request`. */
export function windowMsOf(window: string): number {
  const [, digits, unit] = /^(\d{1,3})([hd])$/.exec(window) ?? [];
  const hours = Number(digits ?? Number.NaN) * (unit === 'd' ? 24 : 1);
  if (hours >= BATCH_WINDOW_HOURS_MIN && hours <= BATCH_WINDOW_HOURS_MAX) return hours * HOUR_MS;
  const range = `[${BATCH_WINDOW_HOURS_MIN}h, ${BATCH_WINDOW_HOURS_MAX}h]`;
  throw refuse('completion_window', `Range of completion_window should be ${range}, in whole hours or days`, window);
}

/** Pairs that say something to the service whose interface this is, and nothing to us. */
const UNHEARD = ['ds_batch_finish_message_queue'];

/** @returns the names of what is kept and not acted on. */
export const unheardIn = (metadata: ReadonlyMap<string, string>): readonly string[] =>
  UNHEARD.filter((name) => metadata.has(name)).map((name) => `metadata.${name}`);
