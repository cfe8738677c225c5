import type { JsonSchema } from '../core/grammar.ts';
import { describeValue, type SchemaDocument, type SchemaObject } from './schema-document.ts';
import { isRecord } from '../lib/is-record.ts';

/** The type of a JSON value; `fraction` is a number that is not an integer. */
export type ValueKind = (typeof VALUE_KINDS)[number];

export const VALUE_KINDS = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'] as const;

export function getValueKind(value: unknown): ValueKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'fraction';
    case 'string':
      return 'string';
    default:
      return 'object';
  }
}

/** The keywords of a schema with validated types. Uses maps for names, because callers choose the names. */
export type SchemaKeywords = Readonly<ReturnType<typeof parseKeywords>>;

const KINDS_BY_TYPE: ReadonlyMap<unknown, readonly ValueKind[]> = new Map([
  ['null', ['null']],
  ['boolean', ['boolean']],
  ['integer', ['integer']],
  ['number', ['integer', 'fraction']],
  ['string', ['string']],
  ['array', ['array']],
  ['object', ['object']],
]);

/** Keywords that change which values are valid, but are neither enforced nor checked. */
const UNSUPPORTED_KEYWORDS = ['$recursiveRef'];

/** Parses a schema's keywords. @throws GrammarError for a keyword with a value of the wrong type or without support. */
export function parseKeywords(schema: SchemaObject, document: SchemaDocument) {
  const path = document.getPath(schema);
  const throwInvalid = (keyword: string, rule: string): never => {
    throw document.createError(path, `${keyword} ${rule}, got ${describeValue(read(keyword))}`);
  };
  const read = (keyword: string): unknown => (Object.hasOwn(schema, keyword) ? schema[keyword] : undefined);

  const readNumber = (keyword: string): number | undefined => {
    const value = read(keyword);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    return throwInvalid(keyword, 'must be a number');
  };
  const readCount = (keyword: string): number | undefined => {
    const value = read(keyword);
    if (value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= 0)) return value;
    return throwInvalid(keyword, 'must be a whole number from 0');
  };
  const readString = (keyword: string): string | undefined => {
    const value = read(keyword);
    return value === undefined || typeof value === 'string' ? value : throwInvalid(keyword, 'must be a string');
  };
  const readSchema = (keyword: string, value = read(keyword)): JsonSchema | undefined => {
    if (value === undefined || typeof value === 'boolean' || isRecord(value)) return value;
    return throwInvalid(keyword, 'must be a schema');
  };
  const readSchemaList = (keyword: string): readonly JsonSchema[] | undefined => {
    const value = read(keyword);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.length === 0)
      return throwInvalid(keyword, 'must be a list of schemas that is not empty');
    return value.map((each: unknown) => readSchema(keyword, each) ?? true);
  };
  const readMap = <T>(keyword: string, convert: (value: unknown) => T): ReadonlyMap<string, T> | undefined => {
    const value = read(keyword);
    if (value === undefined) return undefined;
    if (!isRecord(value)) return throwInvalid(keyword, 'must be an object');
    return new Map(Object.entries(value).map(([name, inner]) => [name, convert(inner)]));
  };
  const readSchemaMap = (keyword: string): ReadonlyMap<string, JsonSchema> | undefined =>
    readMap(keyword, (value) => readSchema(keyword, value ?? 0) ?? true);
  const parseNames = (keyword: string, value: unknown): readonly string[] => {
    if (!isStringArray(value)) return throwInvalid(keyword, 'must be a list of names');
    return value;
  };
  /** Reads a boolean. `false` has no effect and becomes undefined. */
  const readFlag = (keyword: string): true | undefined => {
    const value = read(keyword) ?? false;
    if (typeof value !== 'boolean') return throwInvalid(keyword, 'must be true or false');
    return value || undefined;
  };

  for (const keyword of UNSUPPORTED_KEYWORDS) {
    if (read(keyword) !== undefined) throw document.createError(path, `${keyword} is not supported`);
  }
  const reference = readString('$ref');
  const dynamicReference = readString('$dynamicRef');
  // Draft 4 has exclusiveMinimum and exclusiveMaximum as a boolean that changes the other bound.
  const isOpenBelow = read('exclusiveMinimum') === true;
  const isOpenAbove = read('exclusiveMaximum') === true;
  const readBound = (keyword: string): number | undefined =>
    typeof read(keyword) === 'boolean' ? undefined : readNumber(keyword);
  const format = readString('format');
  const readMinimum = (): number | undefined => (isOpenBelow ? undefined : readNumber('minimum'));
  const readMaximum = (): number | undefined => (isOpenAbove ? undefined : readNumber('maximum'));
  const multipleOf = readNumber('multipleOf');
  if (multipleOf !== undefined && multipleOf <= 0) throwInvalid('multipleOf', 'must be above 0');
  // The one format of integers whose bounds matter: clients in typed languages cannot read a larger one. The range is too
  // large for multiples.
  const isInt32 = format === 'int32' && multipleOf === undefined && [read('type')].flat().includes('integer');
  const isTuple = Array.isArray(read('items')) && read('prefixItems') === undefined;
  const tuple = isTuple ? (read('items') as readonly unknown[]) : undefined;
  const dependencies = readMap('dependencies', (value) => value);
  return {
    path,
    /** Whether other keywords, which the grammar leaves to the check, may allow further members. */
    isOpen: undefined as true | undefined,
    kinds: parseKinds(read('type'), readFlag('nullable'), () =>
      throwInvalid('type', 'must be a type of JSON Schema or a list of them'),
    ),
    /** Allowed values: one list for `enum`, one for `const`. */
    values: parseValueLists(schema, throwInvalid),
    minimum: isInt32 ? Math.max(readMinimum() ?? -Infinity, -(2 ** 31)) : readMinimum(),
    exclusiveMinimum: isOpenBelow ? readNumber('minimum') : readBound('exclusiveMinimum'),
    maximum: isInt32 ? Math.min(readMaximum() ?? Infinity, 2 ** 31 - 1) : readMaximum(),
    exclusiveMaximum: isOpenAbove ? readNumber('maximum') : readBound('exclusiveMaximum'),
    multipleOf,
    minLength: readCount('minLength'),
    maxLength: readCount('maxLength'),
    pattern: readString('pattern'),
    format,
    prefixItems: tuple?.map((each) => readSchema('items', each ?? 0) ?? true) ?? readSchemaList('prefixItems'),
    items: isTuple ? readSchema('additionalItems') : readSchema('items'),
    minItems: readCount('minItems'),
    maxItems: readCount('maxItems'),
    uniqueItems: readFlag('uniqueItems'),
    contains: readSchema('contains'),
    minContains: readCount('minContains'),
    maxContains: readCount('maxContains'),
    properties: readSchemaMap('properties'),
    patternProperties: readSchemaMap('patternProperties'),
    additionalProperties: readSchema('additionalProperties'),
    propertyNames: readSchema('propertyNames'),
    required: read('required') === undefined ? undefined : parseNames('required', read('required')),
    minProperties: readCount('minProperties'),
    maxProperties: readCount('maxProperties'),
    dependentRequired: mergeMaps(
      readMap('dependentRequired', (value) => parseNames('dependentRequired', value)),
      convertMatchingEntries(dependencies, Array.isArray, (value) => parseNames('dependencies', value)),
    ),
    dependentSchemas: mergeMaps(
      readSchemaMap('dependentSchemas'),
      convertMatchingEntries(
        dependencies,
        (value) => !Array.isArray(value),
        (value) => readSchema('dependencies', value) ?? true,
      ),
    ),
    allOf: readSchemaList('allOf'),
    anyOf: readSchemaList('anyOf'),
    oneOf: readSchemaList('oneOf'),
    not: readSchema('not'),
    /** `if`, `then` and `else`. They are renamed because an object with a `then` could be mistaken for a promise. */
    condition: readSchema('if'),
    whenTrue: readSchema('then'),
    whenFalse: readSchema('else'),
    unevaluatedItems: readSchema('unevaluatedItems'),
    unevaluatedProperties: readSchema('unevaluatedProperties'),
    dynamic: dynamicReference === undefined ? undefined : document.resolveDynamic(dynamicReference, schema),
    /** The schema that `$ref` resolves to. */
    target: reference === undefined ? undefined : document.resolve(reference, schema),
  };
}

/** Tells whether keywords that the grammar leaves to the check may evaluate members of the value. */
export const mayEvaluateUnknownMembers = (part: SchemaKeywords): boolean =>
  (part.isOpen ?? part.condition ?? part.dependentSchemas) !== undefined;

const isStringArray = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** Parses `type`. OpenAPI's `nullable` adds null to it. */
function parseKinds(
  type: unknown,
  isNullable: true | undefined,
  throwInvalidType: () => never,
): ReadonlySet<ValueKind> | undefined {
  if (type === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (names.length === 0) throwInvalidType();
  const kinds = new Set<ValueKind>(isNullable ? ['null'] : []);
  for (const name of names) for (const kind of KINDS_BY_TYPE.get(name) ?? throwInvalidType()) kinds.add(kind);
  return kinds;
}

function parseValueLists(
  schema: SchemaObject,
  throwInvalid: (keyword: string, rule: string) => never,
): readonly (readonly unknown[])[] {
  const lists: (readonly unknown[])[] = [];
  if (Object.hasOwn(schema, 'enum')) {
    const values = schema['enum'];
    if (!Array.isArray(values)) throwInvalid('enum', 'must be a list of values');
    else if (!values.every(isJsonValue)) throwInvalid('enum', 'must hold values of JSON');
    else if (values.length === 0) throwInvalid('enum', 'must name at least one value');
    else lists.push(values);
  }
  if (Object.hasOwn(schema, 'const')) {
    if (!isJsonValue(schema['const'])) throwInvalid('const', 'must be a value of JSON');
    lists.push([schema['const']]);
  }
  return lists;
}

/** Tells whether JSON can represent the value: a number like 1e400 is parsed as infinite. */
function isJsonValue(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return value !== undefined;
  return Object.values(value).every(isJsonValue);
}

function convertMatchingEntries<T>(
  map: ReadonlyMap<string, unknown> | undefined,
  matches: (value: unknown) => boolean,
  convert: (value: unknown) => T,
): ReadonlyMap<string, T> | undefined {
  const found = [...(map ?? [])].filter(([, value]) => matches(value));
  return found.length === 0 ? undefined : new Map(found.map(([name, value]) => [name, convert(value)]));
}

const mergeMaps = <T>(
  one: ReadonlyMap<string, T> | undefined,
  other: ReadonlyMap<string, T> | undefined,
): ReadonlyMap<string, T> | undefined => (one && other ? new Map([...other, ...one]) : (one ?? other));
