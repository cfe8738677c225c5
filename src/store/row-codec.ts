type CamelCase<Name> = Name extends `${infer Head}_${infer Tail}` ? `${Head}${Capitalize<CamelCase<Tail>>}` : Name;

type SnakeCase<Name> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

type UndefinedForNull<Value> = null extends Value ? Exclude<Value, null> | undefined : Value;

type NullForUndefined<Value> = undefined extends Value ? Exclude<Value, undefined> | null : Value;

type DecodedRow<Row> = { [Name in keyof Row as CamelCase<Name>]: UndefinedForNull<Row[Name]> };

type EncodedRow<Fields> = { -readonly [Name in keyof Fields as SnakeCase<Name>]: NullForUndefined<Fields[Name]> };

type EncodedChanges<Fields> = { -readonly [Name in keyof Fields as SnakeCase<Name>]: Fields[Name] };

const toCamelCase = (name: string): string => name.replaceAll(/_(.)/g, (_, letter: string) => letter.toUpperCase());

const toSnakeCase = (name: string): string => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);

/** Copies a row with its columns in camel case and undefined instead of null. */
export const decodeRow = <Row extends object>(row: Row): DecodedRow<Row> =>
  renameFields(row, toCamelCase, (value) => value ?? undefined) as DecodedRow<Row>;

/** Creates a row of a record: the columns are the field names in snake case, and undefined becomes null. */
export const encodeRow = <Fields extends object>(fields: Fields): EncodedRow<Fields> =>
  renameFields(fields, toSnakeCase, (value) => value ?? null) as EncodedRow<Fields>;

/** Creates the values of an update: as `encodeRow`, but Kysely leaves out fields that are undefined. */
export const encodeChanges = <Fields extends object>(fields: Fields): EncodedChanges<Fields> =>
  renameFields(fields, toSnakeCase, (value) => value) as EncodedChanges<Fields>;

const renameFields = (
  fields: object,
  getName: (name: string) => string,
  convert: (value: unknown) => unknown,
): unknown => Object.fromEntries(Object.entries(fields).map(([name, value]) => [getName(name), convert(value)]));
