import type { JsonSchema } from '../../core/grammar.ts';
import { isJson } from '../../lib/is-json.ts';
import { isRecord } from '../../lib/is-record.ts';
import { convertLiteral } from './literal-converter.ts';

/** How the text of an argument becomes JSON. `value`: a value where it reads like one, else a string. */
export type ValueType = 'text' | 'value';

/** Returns the schema of a member of an object; undefined when its schema does not name it. */
export const getProperty = (schema: unknown, key: string): unknown =>
  isRecord(schema) && isRecord(schema['properties']) && Object.hasOwn(schema['properties'], key)
    ? schema['properties'][key]
    : undefined;

/** Returns the schema of the elements of a list. */
export const getItems = (schema: unknown): unknown => (isRecord(schema) ? schema['items'] : undefined);

/**
 * Returns the type of a value by its schema: text that looks like a number is a string where it says so.
 *
 * @param root Schema of all arguments, for references.
 */
export const getValueType = (schema: unknown, root: JsonSchema | undefined): ValueType =>
  getOnlyType(schema, root) === 'string' ? 'text' : 'value';

/** Returns the JSON type of a value where its schema allows only one. */
export function getOnlyType(schema: unknown, root: JsonSchema | undefined): string | undefined {
  const [type, ...more] = listTypes(schema, root);
  return more.length === 0 ? type : undefined;
}

/** Returns the JSON text of an argument that was written without quotes. */
export function toJsonValue(text: string): string {
  const trimmed = text.trim();
  if (isJson(trimmed)) return trimmed;
  const literal = convertLiteral(trimmed);
  return literal !== undefined && isJson(literal) ? literal : JSON.stringify(text);
}

/**
 * Returns the JSON text of an argument that was written without quotes, as its schema allows it: text that reads like a
 * value of another type is a string where strings are allowed.
 *
 * @param root Schema of all arguments, for references.
 */
export function toAllowedJson(text: string, schema: unknown, root: JsonSchema | undefined): string {
  const json = toJsonValue(text);
  const types = listTypes(schema, root);
  if (!types.has('string')) return types.has('integer') && ZERO_PADDED.test(text) ? String(Number(text)) : json;
  const value = JSON.parse(json) as unknown;
  const isAllowed = types.has(getJsonType(value)) || (types.has('integer') && Number.isInteger(value));
  return isAllowed ? json : JSON.stringify(text);
}

/** An integer with zeros before it, which JSON does not allow. */
const ZERO_PADDED = /^\s*-?0\d{1,15}\s*$/;

/**
 * Whether a schema allows strings, or any type.
 *
 * @param root Schema of all arguments, for references.
 */
export function allowsText(schema: unknown, root: JsonSchema | undefined): boolean {
  const types = listTypes(schema, root);
  return types.size === 0 || types.has('string');
}

/**
 * Whether a schema allows objects or lists, or any type.
 *
 * @param root Schema of all arguments, for references.
 */
export function allowsMembers(schema: unknown, root: JsonSchema | undefined): boolean {
  const types = listTypes(schema, root);
  return types.size === 0 || types.has('object') || types.has('array');
}

/** Whether a schema names the types that it allows. */
export const namesTypes = (schema: unknown, root: JsonSchema | undefined): boolean => listTypes(schema, root).size > 0;

/** References that are followed from one to the next. A longer chain has no known type. */
const REFERENCES_MAX = 8;

/** Lists the JSON types that a schema allows, as far as it names them; empty when any type is allowed. */
function listTypes(schema: unknown, root: JsonSchema | undefined, depth = 0): ReadonlySet<string> {
  if (!isRecord(schema) || depth > REFERENCES_MAX) return new Set();
  const { type, enum: values, const: value, anyOf, oneOf, $ref } = schema;
  if (typeof $ref === 'string') return listTypes(resolvePointer($ref, root), root, depth + 1);
  if (typeof type === 'string') return new Set([type]);
  if (Array.isArray(type)) return new Set(type.map(String));
  if (Array.isArray(values)) return new Set(values.map(getJsonType));
  if (value !== undefined) return new Set([getJsonType(value)]);
  const options = Array.isArray(anyOf) ? anyOf : Array.isArray(oneOf) ? oneOf : [];
  const types = options.map((option) => listTypes(option, root, depth + 1));
  return types.some(({ size }) => size === 0) ? new Set() : new Set(types.flatMap((each) => [...each]));
}

function resolvePointer(reference: string, root: JsonSchema | undefined): unknown {
  if (!reference.startsWith('#/')) return undefined;
  let value: unknown = root;
  for (const part of reference.slice(2).split('/')) {
    const key = part.replaceAll('~1', '/').replaceAll('~0', '~');
    value = isRecord(value) && Object.hasOwn(value, key) ? value[key] : undefined;
  }
  return value;
}

const getJsonType = (value: unknown): string =>
  value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value;
