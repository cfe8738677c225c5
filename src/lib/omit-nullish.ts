/** Copies an object without the fields that are null or undefined. */
export function omitNullish<Fields extends object>(
  fields: Fields,
): { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> } {
  const defined: { [Name in keyof Fields]?: Exclude<Fields[Name], null | undefined> } = {};
  for (const name in fields) {
    const value = fields[name];
    if (isDefined(value)) defined[name] = value;
  }
  return defined;
}

export const isDefined = <Value>(value: Value): value is Exclude<Value, null | undefined> =>
  value !== undefined && value !== null;
