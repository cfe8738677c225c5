import type { z } from 'zod';
import { errorIn } from '../remote/error-words.ts';
import type { Faults } from '../remote/faults.ts';

/**
 * One event of a server's stream, checked.
 * @throws ServiceError for what is no JSON, for an error of the server's own, and for what is not of the format; of the
 * last, places are named and no values: those are the answer's text.
 */
export function readEvent<Schema extends z.ZodType>(
  json: string,
  { schema, faults }: { readonly schema: Schema; readonly faults: Faults },
): z.output<Schema> {
  let value: unknown;
  try {
    value = JSON.parse(json);
  } catch {
    throw faults.failed('sent something that is no JSON');
  }
  // Inside a string the quotes would be escaped; to look for an error costs as much as all the rest.
  const error = json.includes('"error"') ? errorIn(value) : undefined;
  if (error) throw faults.refused(error.status, error);
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const places = parsed.error.issues.map(({ path }) => path.join('.') || 'the whole').slice(0, 5);
  throw faults.failed(`sent something that is not of the format, at ${places.join(', ')}`);
}
