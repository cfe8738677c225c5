/** An object without the fields that are null or undefined: what "not set" is on the wire becomes absence inside. */
export function present<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> } {
  const kept = Object.entries(fields).filter(([, value]) => value !== undefined && value !== null);
  return Object.fromEntries(kept) as { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> };
}
