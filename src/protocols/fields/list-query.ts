import { z } from 'zod';
import type { ZonedTime } from './zoned-time.ts';

/** Creates the schema of a count of at least 1 in a query string. */
export const createCountField = (max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(max));

/**
 * Creates the schemas that limit a list by creation time, in the configured time zone
 * (docs/wire/openai-compatible.md#files).
 */
export function createCreatedRangeFields(time: ZonedTime) {
  const moment = z
    .string()
    .transform((digits) => time.parse(digits) ?? Number.NaN)
    .refine(Number.isFinite);
  return {
    create_after: moment.optional(),
    // The parameter is in whole seconds, so the list includes the whole of its last second.
    create_before: moment.transform((ms) => ms + 999).optional(),
  };
}

export const CREATED_RANGE_TEXTS = {
  create_after: 'create_after must be yyyyMMddHHmmss',
  create_before: 'create_before must be yyyyMMddHHmmss',
};

/** Converts a query to an object. A field without a value counts as not set. */
export const queryToObject = (query: URLSearchParams): Readonly<Record<string, string>> =>
  Object.fromEntries([...query].filter(([, value]) => value !== ''));
