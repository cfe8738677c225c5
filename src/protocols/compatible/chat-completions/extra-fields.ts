import { isRecord } from '../../../lib/is-record.ts';

/**
 * Returns the top-level fields that the schema does not know. Generation passes them to an upstream server or ignores
 * them.
 */
export function pickExtraFields(body: unknown, unknown: readonly string[]): Readonly<Record<string, unknown>> {
  const extraFields: Record<string, unknown> = Object.create(null);
  if (isRecord(body)) for (const name of unknown) if (Object.hasOwn(body, name)) extraFields[name] = body[name];
  return extraFields;
}
