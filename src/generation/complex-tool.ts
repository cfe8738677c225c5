import type { JsonSchema } from '../core/grammar.ts';

/**
 * Specification, E1 `tool_stream`: a complex tool has array or object parameters. Whatever cannot be seen to have none
 * counts as one: its arguments are then told late, never wrongly. Declared properties are all there are, as in grammars.
 */
export function isComplexTool(parameters: JsonSchema | undefined): boolean {
  if (typeof parameters !== 'object') return parameters === true;
  const { type = 'object', properties, patternProperties, additionalProperties } = parameters;
  if (type !== 'object' || [...ELSEWHERE, ...COMBINED, ...OTHER_SHAPES].some((key) => key in parameters)) return true;
  if (additionalProperties === undefined && hasAnyOthers(parameters)) return true;
  const others = additionalProperties === undefined ? [] : [additionalProperties];
  return [...valuesOf(properties), ...valuesOf(patternProperties), ...others].some(isComplexValue);
}

/** What they lead to is not looked for. */
const ELSEWHERE = ['$ref', '$dynamicRef', '$recursiveRef', 'if', 'then', 'else'];

const COMBINED = ['anyOf', 'oneOf', 'allOf'];

/** Of a tool's parameters as a whole: more properties, or values that stand there ready. */
const OTHER_SHAPES = ['dependentSchemas', 'dependencies', 'unevaluatedProperties', 'enum', 'const'];

const SIMPLE_TYPES: readonly unknown[] = ['string', 'number', 'integer', 'boolean', 'null'];

/** Whether there may be properties that nothing describes. */
function hasAnyOthers({ properties, patternProperties, required, minProperties }: SchemaFields): boolean {
  if (properties === undefined && patternProperties === undefined) return true;
  const declared = new Set(isFields(properties) ? Object.keys(properties) : []);
  const isMissing = Array.isArray(required) && required.some((name) => !declared.has(name));
  return isMissing || Number(minProperties ?? 0) > declared.size;
}

function isComplexValue(schema: unknown): boolean {
  if (!isFields(schema)) return schema !== false;
  if (ELSEWHERE.some((key) => key in schema)) return true;
  const members = COMBINED.flatMap((key) => (key in schema ? itemsOf(schema[key]) : []));
  if (members.some(isComplexValue)) return true;
  const values = [
    ...('enum' in schema ? itemsOf(schema['enum']) : []),
    ...('const' in schema ? [schema['const']] : []),
  ];
  if (values.some((value) => typeof value === 'object' && value !== null)) return true;
  const { type } = schema;
  if (type === undefined) return members.length === 0 && values.length === 0;
  return ![type].flat().every((each) => SIMPLE_TYPES.includes(each));
}

type SchemaFields = Readonly<Record<string, unknown>>;

const isFields = (value: unknown): value is SchemaFields =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** What stands in the wrong place is as complex as can be: `true`, or an object. */
const valuesOf = (schemas: unknown = {}): readonly unknown[] => (isFields(schemas) ? Object.values(schemas) : [true]);
const itemsOf = (list: unknown): readonly unknown[] => (Array.isArray(list) ? list : [{}]);
