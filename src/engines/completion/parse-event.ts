import { createEventFormatError, createNoJsonError } from '../remote/stream-errors.ts';
import type { z } from 'zod';
import { findUpstreamError } from '../remote/upstream-error-details.ts';
import type { UpstreamErrorFactory } from '../remote/upstream-error-factory.ts';

/**
 * Parses and validates one event of a server's stream.
 * @throws ServiceError for invalid JSON, for an error that the server reports, and for an invalid format. The cause names
 * the paths of invalid fields and no values, which may be text of the answer.
 */
export function parseEvent<Schema extends z.ZodType>(
  json: string,
  { schema, errors }: { readonly schema: Schema; readonly errors: UpstreamErrorFactory },
): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw createNoJsonError(errors);
  }
  // Searching for an error is as expensive as the rest. Quotes inside a string would be escaped, so this test is exact.
  const error = json.includes('"error"') ? findUpstreamError(value) : undefined;
  if (error) throw errors.createFromStatus(error.status, error);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  throw createEventFormatError(errors, parsed.error);
}
