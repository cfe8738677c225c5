import type { JsonSchema } from '../core/grammar.ts';
import { isRecord } from '../lib/is-record.ts';

/**
 * Whether a tool has array or object parameters, in which case its arguments are not streamed unless `tool_stream` is
 * set (docs/wire/openai-compatible.md#chat-request). A schema that may allow them counts as complex: its arguments are
 * then sent late, but never wrongly. As in grammars, no properties besides the declared ones are expected.
 */
export function isComplexTool(parameters: JsonSchema | undefined): boolean {
  if (typeof parameters !== 'object') return parameters === true;
  const { type = 'object', properties, patternProperties, additionalProperties } = parameters;
  if (
    type !== 'object' ||
    [...REFERENCE_KEYWORDS, ...COMBINING_KEYWORDS, ...OTHER_COMPLEX_KEYWORDS].some((key) => key in parameters)
  )
    return true;
  if (additionalProperties === undefined && mayHaveUndeclaredProperties(parameters)) return true;
  const additionalSchemas = additionalProperties === undefined ? [] : [additionalProperties];
  return [...listSchemas(properties), ...listSchemas(patternProperties), ...additionalSchemas].some(isComplexValue);
}

/** Keywords that lead to other schemas, which are not followed. */
const REFERENCE_KEYWORDS = ['$ref', '$dynamicRef', '$recursiveRef', 'if', 'then', 'else'];

const COMBINING_KEYWORDS = ['anyOf', 'oneOf', 'allOf'];

/** Keywords that allow more properties, or whole values, for a tool's parameters. */
const OTHER_COMPLEX_KEYWORDS = ['dependentSchemas', 'dependencies', 'unevaluatedProperties', 'enum', 'const'];

const SIMPLE_TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null'];

/** Whether the schema allows properties that it does not describe. */
function mayHaveUndeclaredProperties({
  properties,
  patternProperties,
  required,
  minProperties,
}: SchemaFields): boolean {
  if (properties === undefined && patternProperties === undefined) return true;
  const declared = new Set(isRecord(properties) ? Object.keys(properties) : []);
  const isMissing = Array.isArray(required) && required.some((name) => !declared.has(name));
  return isMissing || Number(minProperties ?? 0) > declared.size;
}

function isComplexValue(schema: unknown): boolean {
  if (!isRecord(schema)) return schema !== false;
  if (REFERENCE_KEYWORDS.some((key) => key in schema)) return true;
  const members = COMBINING_KEYWORDS.flatMap((key) => (key in schema ? listItems(schema[key]) : []));
  if (members.some(isComplexValue)) return true;
  const values = [
    ...('enum' in schema ? listItems(schema['enum']) : []),
    ...('const' in schema ? [schema['const']] : []),
  ];
  if (values.some((value) => typeof value === 'object' && value !== null)) return true;
  const { type } = schema;
  if (type === undefined) return members.length === 0 && values.length === 0;
  return ![type].flat().every((each) => SIMPLE_TYPES.includes(each));
}

type SchemaFields = Readonly<Record<string, unknown>>;

/** Returns the subschemas of a map; a value of another type counts as complex: `true`, or an object. */
const listSchemas = (schemas: unknown = {}): readonly unknown[] =>
  isRecord(schemas) ? Object.values(schemas) : [true];
const listItems = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : [{}]);
