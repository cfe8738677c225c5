import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_COUNT_MAX, GRAMMAR_LENGTH_MAX, GRAMMAR_POSITIONS_MAX } from './limits.ts';
import { toDecimal } from './decimal.ts';
import { type SchemaObject } from './schema-document.ts';
import { isRecord } from '../lib/is-record.ts';

/**
 * Tells whether a value that the schema's grammar allows can still violate the schema: whether it uses a keyword that
 * docs/protocols/json-schema.md lists as checked afterwards. Fast; may return true without need, never false wrongly.
 */
export function needsCheck(schema: JsonSchema): boolean {
  const features = { isJoined: false, hasText: false, hasLength: false, hasCount: false };
  const stack: unknown[] = [schema];
  const enqueue = (values: readonly unknown[]): void => {
    for (const value of values) if (typeof value === 'object' && value !== null) stack.push(value);
  };
  // Treats every object as a schema, also in data, because a reference can point to it.
  for (let current = stack.pop(); current !== undefined; current = stack.pop()) {
    if (Array.isArray(current)) enqueue(current);
    else if (isRecord(current)) {
      if (hasCheckedKeyword(current)) return true;
      features.isJoined ||= combinesSchemas(current);
      features.hasText ||= 'pattern' in current || 'format' in current;
      features.hasLength ||= 'maxLength' in current;
      features.hasCount ||= 'maxProperties' in current || 'multipleOf' in current;
      for (const [keyword, value] of Object.entries(current))
        enqueue(KEYWORDS_WITH_NAMED_SCHEMAS.has(keyword) && isRecord(value) ? Object.values(value) : [value]);
    }
  }
  // Combinations within one schema are detected above; those across schemas are known to the compiler only.
  return features.isJoined && ((features.hasText && features.hasLength) || features.hasCount);
}

/** Keywords whose value is a map of schemas by names that the caller chooses. */
const KEYWORDS_WITH_NAMED_SCHEMAS = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

const CHECKED_KEYWORDS = [
  'contains',
  'minContains',
  'maxContains',
  'not',
  'if',
  'dependentRequired',
  'dependentSchemas',
  'dependencies',
];

function hasCheckedKeyword(schema: SchemaObject): boolean {
  const read = (keyword: string): unknown => (Object.hasOwn(schema, keyword) ? schema[keyword] : undefined);
  const isAbove = (keyword: string, most: number): boolean => {
    const value = read(keyword);
    return value !== undefined && !(typeof value === 'number' && value <= most);
  };
  const { oneOf } = schema;
  return (
    CHECKED_KEYWORDS.some((keyword) => read(keyword) !== undefined) ||
    (read('uniqueItems') ?? false) !== false ||
    (oneOf !== undefined && !(Array.isArray(oneOf) && oneOf.length === 1)) ||
    isAbove('minProperties', 0) ||
    isAbove('maxProperties', Math.min(GRAMMAR_COUNT_MAX, propertiesMax(schema))) ||
    isAbove('maxItems', GRAMMAR_COUNT_MAX) ||
    isAbove('maxLength', GRAMMAR_LENGTH_MAX) ||
    // The automaton of the pattern may be too large to be combined with a length.
    (read('maxLength') !== undefined && (read('pattern') !== undefined || read('format') !== undefined)) ||
    !isEnforceableMultiple(schema) ||
    refersToNamedSchemas(read('$ref'))
  );
}

/** Returns how many properties a grammar can count beside the declared ones. */
function propertiesMax({ properties, required }: SchemaObject): number {
  const declared = isRecord(properties) ? Object.keys(properties).length : 0;
  const named = Array.isArray(required) ? required.length : 0;
  return Math.floor(GRAMMAR_POSITIONS_MAX / (declared + named + 1)) - 1;
}

/** Tells whether an automaton can enforce multipleOf under any bounds: a small number with few decimal places. */
function isEnforceableMultiple({ multipleOf, ...schema }: SchemaObject): boolean {
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

/** Limits up to which `numberRangeToAutomaton` succeeds under any bounds; its tests verify this. */
const STEP_DIGITS_MAX = 10n;
const STEP_EXPONENT_MAX = 4;
const STEP_BOUND_MAX = 1e9;

/** Tells whether a reference may point to a map of names, which would be read as keywords. Does not decode escapes. */
const refersToNamedSchemas = (reference: unknown): boolean =>
  typeof reference === 'string' &&
  (reference.includes('%') || KEYWORDS_WITH_NAMED_SCHEMAS.has(reference.slice(reference.lastIndexOf('/') + 1)));

/** Tells whether the assertions of this schema are combined with those of another one for the same value. */
function combinesSchemas(schema: SchemaObject): boolean {
  if (schema['patternProperties'] !== undefined) return true;
  const { allOf } = schema;
  const own = Object.keys(schema).some((keyword) => !NON_ASSERTING_KEYWORDS.has(keyword));
  const parts = [own, '$ref' in schema, 'anyOf' in schema, 'oneOf' in schema].filter(Boolean).length;
  return parts + (Array.isArray(allOf) ? allOf.length : 0) > 1;
}

/** Keywords that assert nothing themselves, or that are counted separately. */
const NON_ASSERTING_KEYWORDS = new Set([
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
