import { isPlainObject } from '../../parse.ts';

/** Top-level fields that the schema does not know, for a server that may; generation says which of them nobody heard. */
export function furtherFields(body: unknown, unknown: readonly string[]): Readonly<Record<string, unknown>> {
  const further: Record<string, unknown> = Object.create(null);
  if (isPlainObject(body)) for (const name of unknown) if (Object.hasOwn(body, name)) further[name] = body[name];
  return further;
}
