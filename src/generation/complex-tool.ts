import type { JsonSchema } from '../core/grammar.ts';

/**
 * Specification, E1 `tool_stream`: a complex tool has array or object parameters. What cannot be seen without following a
 * reference counts as one.
 */
export function isComplexTool(parameters: JsonSchema | undefined): boolean {
  if (typeof parameters !== 'object') return parameters === true;
  const { properties } = parameters;
  if (typeof properties !== 'object' || properties === null)
    return '$ref' in parameters || COMBINED.some((key) => key in parameters);
  return Object.values(properties).some(isComplexValue) || COMBINED.some((key) => key in parameters);
}

const COMBINED = ['anyOf', 'oneOf', 'allOf'] as const;

function isComplexValue(schema: unknown): boolean {
  if (typeof schema !== 'object' || schema === null) return schema === true;
  const members = COMBINED.flatMap((key): unknown[] => {
    const list: unknown = Reflect.get(schema, key);
    return Array.isArray(list) ? list : [];
  });
  if (members.length > 0) return members.some(isComplexValue);
  const type: unknown = Reflect.get(schema, 'type');
  const types = Array.isArray(type) ? type : [type];
  if (type === undefined) return !('enum' in schema) && !('const' in schema);
  return types.includes('array') || types.includes('object');
}
