import type { JsonSchema } from '../core/grammar.ts';
import { isObject, shown, type SchemaDocument, type SchemaObject } from './schema-document.ts';

/** What a value is; `fraction` is a number that is no integer. */
export type Kind = 'null' | 'boolean' | 'integer' | 'fraction' | 'string' | 'array' | 'object';

export const KINDS: readonly Kind[] = ['null', 'boolean', 'integer', 'fraction', 'string', 'array', 'object'];

/** A schema's keywords, with their values' types checked. Names come from callers, so there are maps, not objects. */
export interface Keywords {
  readonly path: string;
  readonly kinds: ReadonlySet<Kind> | undefined;
  /** Each list is an enum or the value of a const. */
  readonly values: readonly (readonly unknown[])[];
  readonly minimum: number | undefined;
  readonly exclusiveMinimum: number | undefined;
  readonly maximum: number | undefined;
  readonly exclusiveMaximum: number | undefined;
  readonly multipleOf: number | undefined;
  readonly minLength: number | undefined;
  readonly maxLength: number | undefined;
  readonly pattern: string | undefined;
  readonly format: string | undefined;
  readonly prefixItems: readonly JsonSchema[] | undefined;
  readonly items: JsonSchema | undefined;
  readonly minItems: number | undefined;
  readonly maxItems: number | undefined;
  readonly uniqueItems: true | undefined;
  readonly contains: JsonSchema | undefined;
  readonly minContains: number | undefined;
  readonly maxContains: number | undefined;
  readonly properties: ReadonlyMap<string, JsonSchema> | undefined;
  readonly patternProperties: ReadonlyMap<string, JsonSchema> | undefined;
  readonly additionalProperties: JsonSchema | undefined;
  readonly propertyNames: JsonSchema | undefined;
  readonly required: readonly string[] | undefined;
  readonly minProperties: number | undefined;
  readonly maxProperties: number | undefined;
  readonly dependentRequired: ReadonlyMap<string, readonly string[]> | undefined;
  readonly dependentSchemas: ReadonlyMap<string, JsonSchema> | undefined;
  readonly allOf: readonly JsonSchema[] | undefined;
  readonly anyOf: readonly JsonSchema[] | undefined;
  readonly oneOf: readonly JsonSchema[] | undefined;
  readonly not: JsonSchema | undefined;
  /** `if`, `then` and `else`; an object with a `then` would be taken for a promise. */
  readonly condition: JsonSchema | undefined;
  readonly whenTrue: JsonSchema | undefined;
  readonly whenFalse: JsonSchema | undefined;
  /** What `$ref` leads to. */
  readonly target: JsonSchema | undefined;
}

const TYPES: ReadonlyMap<unknown, readonly Kind[]> = new Map([
  ['null', ['null']],
  ['boolean', ['boolean']],
  ['integer', ['integer']],
  ['number', ['integer', 'fraction']],
  ['string', ['string']],
  ['array', ['array']],
  ['object', ['object']],
]);

/** Keywords that would change what is valid, and that we neither enforce nor check. */
const REFUSED = ['$dynamicRef', '$recursiveRef', 'unevaluatedItems', 'unevaluatedProperties'];

/** @throws GrammarError for a keyword whose value has another type than it must have, and for those we refuse. */
export function readKeywords(schema: SchemaObject, document: SchemaDocument): Keywords {
  const path = document.pathOf(schema);
  const wrong = (keyword: string, rule: string): never => {
    throw document.refusal(path, `${keyword} ${rule}, got ${shown(read(keyword))}`);
  };
  const read = (keyword: string): unknown => (Object.hasOwn(schema, keyword) ? schema[keyword] : undefined);

  const asNumber = (keyword: string): number | undefined => {
    const value = read(keyword);
    if (value === undefined || (typeof value === 'number' && Number.isFinite(value))) return value;
    return wrong(keyword, 'must be a number');
  };
  const asCount = (keyword: string): number | undefined => {
    const value = read(keyword);
    if (value === undefined || (typeof value === 'number' && Number.isInteger(value) && value >= 0)) return value;
    return wrong(keyword, 'must be a whole number from 0');
  };
  const asText = (keyword: string): string | undefined => {
    const value = read(keyword);
    return value === undefined || typeof value === 'string' ? value : wrong(keyword, 'must be a string');
  };
  const asSchema = (keyword: string, value = read(keyword)): JsonSchema | undefined => {
    if (value === undefined || typeof value === 'boolean' || isObject(value)) return value;
    return wrong(keyword, 'must be a schema');
  };
  const asList = (keyword: string): readonly JsonSchema[] | undefined => {
    const value = read(keyword);
    if (value === undefined) return undefined;
    if (!Array.isArray(value) || value.length === 0)
      return wrong(keyword, 'must be a list of schemas that is not empty');
    return value.map((each: unknown) => asSchema(keyword, each) ?? true);
  };
  const asMap = <T>(keyword: string, convert: (value: unknown) => T): ReadonlyMap<string, T> | undefined => {
    const value = read(keyword);
    if (value === undefined) return undefined;
    if (!isObject(value)) return wrong(keyword, 'must be an object');
    return new Map(Object.entries(value).map(([name, inner]) => [name, convert(inner)]));
  };
  const schemasIn = (keyword: string): ReadonlyMap<string, JsonSchema> | undefined =>
    asMap(keyword, (value) => asSchema(keyword, value ?? 0) ?? true);
  const namesOf = (keyword: string, value: unknown): readonly string[] => {
    if (!isTexts(value)) return wrong(keyword, 'must be a list of names');
    return value;
  };
  /** False says nothing, so it is left out. */
  const asFlag = (keyword: string): true | undefined => {
    const value = read(keyword) ?? false;
    if (typeof value !== 'boolean') return wrong(keyword, 'must be true or false');
    return value || undefined;
  };

  for (const keyword of REFUSED) {
    if (read(keyword) !== undefined) throw document.refusal(path, `${keyword} is not supported`);
  }
  const reference = asText('$ref');
  // Draft 4 has exclusiveMinimum and exclusiveMaximum as a boolean that changes the other bound.
  const isOpenBelow = read('exclusiveMinimum') === true;
  const isOpenAbove = read('exclusiveMaximum') === true;
  const bound = (keyword: string): number | undefined =>
    typeof read(keyword) === 'boolean' ? undefined : asNumber(keyword);
  const multipleOf = asNumber('multipleOf');
  if (multipleOf !== undefined && multipleOf <= 0) wrong('multipleOf', 'must be above 0');
  const isTuple = Array.isArray(read('items')) && read('prefixItems') === undefined;
  const tuple = isTuple ? (read('items') as readonly unknown[]) : undefined;
  const dependencies = asMap('dependencies', (value) => value);
  return {
    path,
    kinds: kindsOf(read('type'), asFlag('nullable'), () =>
      wrong('type', 'must be a type of JSON Schema or a list of them'),
    ),
    values: valuesOf(schema, wrong),
    minimum: isOpenBelow ? undefined : asNumber('minimum'),
    exclusiveMinimum: isOpenBelow ? asNumber('minimum') : bound('exclusiveMinimum'),
    maximum: isOpenAbove ? undefined : asNumber('maximum'),
    exclusiveMaximum: isOpenAbove ? asNumber('maximum') : bound('exclusiveMaximum'),
    multipleOf,
    minLength: asCount('minLength'),
    maxLength: asCount('maxLength'),
    pattern: asText('pattern'),
    format: asText('format'),
    prefixItems: tuple?.map((each) => asSchema('items', each ?? 0) ?? true) ?? asList('prefixItems'),
    items: isTuple ? asSchema('additionalItems') : asSchema('items'),
    minItems: asCount('minItems'),
    maxItems: asCount('maxItems'),
    uniqueItems: asFlag('uniqueItems'),
    contains: asSchema('contains'),
    minContains: asCount('minContains'),
    maxContains: asCount('maxContains'),
    properties: schemasIn('properties'),
    patternProperties: schemasIn('patternProperties'),
    additionalProperties: asSchema('additionalProperties'),
    propertyNames: asSchema('propertyNames'),
    required: read('required') === undefined ? undefined : namesOf('required', read('required')),
    minProperties: asCount('minProperties'),
    maxProperties: asCount('maxProperties'),
    dependentRequired: joined(
      asMap('dependentRequired', (value) => namesOf('dependentRequired', value)),
      entriesWhere(dependencies, Array.isArray, (value) => namesOf('dependencies', value)),
    ),
    dependentSchemas: joined(
      schemasIn('dependentSchemas'),
      entriesWhere(
        dependencies,
        (value) => !Array.isArray(value),
        (value) => asSchema('dependencies', value) ?? true,
      ),
    ),
    allOf: asList('allOf'),
    anyOf: asList('anyOf'),
    oneOf: asList('oneOf'),
    not: asSchema('not'),
    condition: asSchema('if'),
    whenTrue: asSchema('then'),
    whenFalse: asSchema('else'),
    target: reference === undefined ? undefined : document.resolve(reference, schema),
  };
}

const isTexts = (value: unknown): value is readonly string[] =>
  Array.isArray(value) && value.every((each) => typeof each === 'string');

/** OpenAPI's `nullable` adds null to a type that is there. */
function kindsOf(type: unknown, isNullable: true | undefined, refuse: () => never): ReadonlySet<Kind> | undefined {
  if (type === undefined) return undefined;
  const names: readonly unknown[] = Array.isArray(type) ? type : [type];
  if (names.length === 0) refuse();
  const kinds = new Set<Kind>(isNullable ? ['null'] : []);
  for (const name of names) for (const kind of TYPES.get(name) ?? refuse()) kinds.add(kind);
  return kinds;
}

function valuesOf(
  schema: SchemaObject,
  wrong: (keyword: string, rule: string) => never,
): readonly (readonly unknown[])[] {
  const lists: (readonly unknown[])[] = [];
  if (Object.hasOwn(schema, 'enum')) {
    const values = schema['enum'];
    if (!Array.isArray(values)) wrong('enum', 'must be a list of values');
    else if (!values.every(isJson)) wrong('enum', 'must hold values of JSON');
    else if (values.length === 0) wrong('enum', 'must name at least one value');
    else lists.push(values);
  }
  if (Object.hasOwn(schema, 'const')) {
    if (!isJson(schema['const'])) wrong('const', 'must be a value of JSON');
    lists.push([schema['const']]);
  }
  return lists;
}

/** A number like 1e400 is read as infinite, which JSON cannot say. */
function isJson(value: unknown): boolean {
  if (typeof value === 'number') return Number.isFinite(value);
  if (typeof value !== 'object' || value === null) return value !== undefined;
  return Object.values(value).every(isJson);
}

function entriesWhere<T>(
  map: ReadonlyMap<string, unknown> | undefined,
  is: (value: unknown) => boolean,
  convert: (value: unknown) => T,
): ReadonlyMap<string, T> | undefined {
  const found = [...(map ?? [])].filter(([, value]) => is(value));
  return found.length === 0 ? undefined : new Map(found.map(([name, value]) => [name, convert(value)]));
}

const joined = <T>(
  one: ReadonlyMap<string, T> | undefined,
  other: ReadonlyMap<string, T> | undefined,
): ReadonlyMap<string, T> | undefined => (one && other ? new Map([...other, ...one]) : (one ?? other));
