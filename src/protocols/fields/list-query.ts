import { z } from 'zod';
import type { ZonedTime } from './zoned-time.ts';

/** A count in a query, from 1 on: text there, as all of it is. */
export const countField = (max: number) =>
  z
    .string()
    .regex(/^\d{1,9}$/)
    .transform(Number)
    .pipe(z.int().min(1).max(max));

/** When what is listed was made, in the configured zone. wire.md E9.2, E9.3. */
export function createdFields(time: ZonedTime) {
  const moment = z
    .string()
    .transform((digits) => time.read(digits) ?? Number.NaN)
    .refine(Number.isFinite);
  return { create_after: moment.optional(), create_before: moment.optional() };
}

export const CREATED_TEXTS = {
  create_after: 'create_after must be yyyyMMddHHmmss',
  create_before: 'create_before must be yyyyMMddHHmmss',
};
