import type { JsonSchema } from '../core/grammar.ts';
import { GRAMMAR_COUNT_MAX, GRAMMAR_LENGTH_MAX, GRAMMAR_POSITIONS_MAX } from './limits.ts';
import { FORMATS } from './format-checks/is-of-format.ts';
import { toDecimal } from './decimal.ts';
import { type SchemaObject } from './schema-document.ts';
import { isRecord } from '../lib/is-record.ts';

/**
 * Tells whether a value that the schema's grammar allows can still violate the schema: whether it uses a keyword that
 * docs/protocols/json-schema.md lists as checked afterwards, or is large enough that a limit may leave a part out of its
 * grammar. Fast; may return true without need. What a limit really left out, the compiler reports
 * (`CompiledGrammar.isWide`).
 */
export function needsCheck(schema: JsonSchema): boolean {
  let isJoined = false;
  let isMultiplied = false;
  let size = 0;
  const stack: unknown[] = [schema];
  const enqueue = (values: readonly unknown[]): void => {
    for (const value of values) stack.push(value);
  };
  // Treats every object as a schema, also in data, because a reference can point to it.
  for (let current = stack.pop(); current !== undefined && size <= CERTAIN_SIZE_MAX; current = stack.pop()) {
    size += typeof current === 'string' ? 1 + current.length : 1;
    if (Array.isArray(current)) enqueue(current);
    else if (isRecord(current)) {
      if (hasCheckedKeyword(current) || hasManyContainers(current)) return true;
      isJoined ||= combinesSchemas(current);
      isMultiplied ||= 'maxProperties' in current || 'multipleOf' in current || 'anyOf' in current;
      for (const [keyword, value] of Object.entries(current)) {
        size += keyword.length + measureAutomaton(keyword, value);
        enqueue(KEYWORDS_WITH_NAMED_SCHEMAS.has(keyword) && isRecord(value) ? Object.values(value) : [value]);
      }
    }
  }
  // Combinations within one schema are detected above; those across schemas are known to the compiler only.
  return size > CERTAIN_SIZE_MAX || (isJoined && isMultiplied);
}

/** Values, characters and counts of a schema whose grammar is certainly below the limits of size and work. */
const CERTAIN_SIZE_MAX = 20_000;

/** Returns the size of the automaton or the rules of a keyword, as a part of CERTAIN_SIZE_MAX. */
function measureAutomaton(keyword: string, value: unknown): number {
  if (typeof value !== 'number' || !(value > 0)) return 0;
  if (keyword === 'multipleOf') return STEP_SIZE;
  if (keyword === 'maxProperties') return GRAMMAR_POSITIONS_MAX;
  return COUNTING_KEYWORDS.has(keyword) ? Math.min(value, GRAMMAR_LENGTH_MAX) : 0;
}

const COUNTING_KEYWORDS = new Set(['minItems', 'maxItems', 'minLength', 'maxLength']);

/** A multipleOf may take a sixth of the work for a grammar. */
const STEP_SIZE = CERTAIN_SIZE_MAX / 5;

/** Members of unions in one schema whose combinations are certainly below SCHEMA_ALTERNATIVES_MAX. */
const CERTAIN_ALTERNATIVES_MAX = 8;

/** Tells whether alternatives may be too many, or may be several arrays or objects that no text tells apart. */
function hasManyContainers({ anyOf }: SchemaObject): boolean {
  if (!Array.isArray(anyOf)) return false;
  const containers = anyOf.filter((each) => !isScalarSchema(each));
  return anyOf.length > CERTAIN_ALTERNATIVES_MAX || containers.length > 1;
}

const isScalarSchema = (schema: unknown): boolean =>
  isRecord(schema) && typeof schema['type'] === 'string' && SCALAR_TYPES.has(schema['type']);

const SCALAR_TYPES = new Set(['string', 'number', 'integer', 'boolean', 'null']);

/** Keywords whose value is a map of schemas by names that the caller chooses. */
const KEYWORDS_WITH_NAMED_SCHEMAS = new Set(['properties', 'patternProperties', '$defs', 'definitions']);

const CHECKED_KEYWORDS = [
  '$dynamicRef',
  'unevaluatedItems',
  'unevaluatedProperties',
  'pattern',
  'patternProperties',
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
    hasCheckedFormat(read('format')) ||
    !isEnforceableMultiple(schema) ||
    refersToNamedSchemas(read('$ref'))
  );
}

const hasCheckedFormat = (format: unknown): boolean => typeof format === 'string' && FORMATS.has(format);

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
