import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_COUNT_MAX, GRAMMAR_LENGTH_MAX, GRAMMAR_POSITIONS_MAX } from '../core/limits.ts';
import { toDecimal } from './decimal.ts';
import { isObject, type SchemaObject } from './schema-document.ts';

/**
 * Whether a value that the schema's grammar allows can still break the schema: whether it holds one of the keywords that
 * docs/protocols/json-schema.md says are checked afterwards. Cheap, and rather yes than no.
 */
export function needsCheck(schema: JsonSchema): boolean {
  const facts = { isJoined: false, hasText: false, hasLength: false, hasCount: false };
  const waiting: unknown[] = [schema];
  const look = (values: readonly unknown[]): void => {
    for (const value of values) if (typeof value === 'object' && value !== null) waiting.push(value);
  };
  // Whatever a reference can lead to is looked at as a schema, also where it is data.
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (Array.isArray(at)) look(at);
    else if (isObject(at)) {
      if (isChecked(at)) return true;
      facts.isJoined ||= joins(at);
      facts.hasText ||= 'pattern' in at || 'format' in at;
      facts.hasLength ||= 'maxLength' in at;
      facts.hasCount ||= 'maxProperties' in at || 'multipleOf' in at;
      for (const [keyword, value] of Object.entries(at))
        look(NAMED.has(keyword) && isObject(value) ? Object.values(value) : [value]);
    }
  }
  // What stands in one schema can be counted here; what is joined from several is seen by the compiler only.
  return facts.isJoined && ((facts.hasText && facts.hasLength) || facts.hasCount);
}

/** Keywords whose value is a map by names that are the caller's. */
const NAMED = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

const CHECKED = [
  'contains',
  'minContains',
  'maxContains',
  'not',
  'if',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
];

function isChecked(schema: SchemaObject): boolean {
  const read = (keyword: string): unknown => (Object.hasOwn(schema, keyword) ? schema[keyword] : undefined);
  const isAbove = (keyword: string, most: number): boolean => {
    const value = read(keyword);
    return value !== undefined && !(typeof value === 'number' && value <= most);
  };
  const { oneOf } = schema;
  return (
    CHECKED.some((keyword) => read(keyword) !== undefined) ||
    (read('uniqueItems') ?? false) !== false ||
    (oneOf !== undefined && !(Array.isArray(oneOf) && oneOf.length === 1)) ||
    isAbove('minProperties', 0) ||
    isAbove('maxProperties', Math.min(GRAMMAR_COUNT_MAX, propertiesMax(schema))) ||
    isAbove('maxItems', GRAMMAR_COUNT_MAX) ||
    isAbove('maxLength', GRAMMAR_LENGTH_MAX) ||
    // The pattern's automaton may be too large for a length.
    (read('maxLength') !== undefined && (read('pattern') !== undefined || read('format') !== undefined)) ||
    !isPlainStep(schema) ||
    leadsToNames(read('$ref'))
  );
}

/** So many properties can be counted beside those that are declared. */
function propertiesMax({ properties, required }: SchemaObject): number {
  const declared = isObject(properties) ? Object.keys(properties).length : 0;
  const named = Array.isArray(required) ? required.length : 0;
  return Math.floor(GRAMMAR_POSITIONS_MAX / (declared + named + 1)) - 1;
}

/** Multiples that an automaton can tell whatever the bounds: of a small number, with few decimal places. */
function isPlainStep({ multipleOf, ...schema }: SchemaObject): boolean {
  if (multipleOf === undefined) return true;
  if (typeof multipleOf !== 'number' || !(multipleOf > 0) || multipleOf === Infinity) return false;
  const { digits, exponent } = toDecimal(multipleOf);
  if (digits > STEP_DIGITS_MAX || Math.abs(exponent) > STEP_EXPONENT_MAX) return false;
  return BOUNDS.every((keyword) => {
    const bound = schema[keyword];
    return bound === undefined || (typeof bound === 'number' && Math.abs(bound) <= STEP_BOUND_MAX);
  });
}

const BOUNDS = ['minimum', 'maximum', 'exclusiveMinimum', 'exclusiveMaximum'];

/** Ours: what `fromNumbers` can do under any bounds up to this; tested there. */
const STEP_DIGITS_MAX = 10n;
const STEP_EXPONENT_MAX = 4;
const STEP_BOUND_MAX = 1e9;

/** A reference to a map of names would read the names as keywords. Escapes are not looked into. */
const leadsToNames = (reference: unknown): boolean =>
  typeof reference === 'string' &&
  (reference.includes('%') || NAMED.has(reference.slice(reference.lastIndexOf('/') + 1)));

/** Whether what this schema says is joined with what another one says of the same value. */
function joins(schema: SchemaObject): boolean {
  if (schema['patternProperties'] !== undefined) return true;
  const { allOf } = schema;
  const own = Object.keys(schema).some((keyword) => !SILENT.has(keyword));
  const parts = [own, '$ref' in schema, 'anyOf' in schema, 'oneOf' in schema].filter(Boolean).length;
  return parts + (Array.isArray(allOf) ? allOf.length : 0) > 1;
}

/** Keywords that say nothing of the value by themselves, or are counted apart. */
const SILENT = new Set([
  '$anchor',
  '$comment',
  '$defs',
  '$id',
  '$ref',
  '$schema',
  'allOf',
  'anyOf',
  'default',
  'definitions',
  'deprecated',
  'description',
  'examples',
  'oneOf',
  'readOnly',
  'title',
  'writeOnly',
]);
