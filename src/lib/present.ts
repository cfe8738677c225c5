/** An object without the fields that are null or undefined: what "not set" is on the wire becomes absence inside. */
export function present<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> } {
  const kept: { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> } = {};
  for (const name in fields) {
    const value = fields[name];
    if (isPresent(value)) kept[name] = value;
  }
  return kept;
}

export const isPresent = <Value>(value: Value): value is Exclude<Value, null | undefined> =>
  value !== undefined && value !== null;
