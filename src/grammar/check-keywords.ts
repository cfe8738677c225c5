import type { JsonSchema } from '../core/grammar.ts';
import type { LanguageFactory } from './language-factory.ts';
import { toDecimal, type Decimal } from './decimal.ts';
import type { SchemaKeywords } from './keywords.ts';
import { countCodePoints } from '../lib/code-points.ts';
import { acceptsText } from './automaton.ts';
import { isOfFormat } from './format-checks/is-of-format.ts';
import { isRecord } from '../lib/is-record.ts';
import { createDepthError } from './check-limit-error.ts';

/** Names and indexes of the members that schemas have evaluated, for `unevaluatedProperties` and `unevaluatedItems`. */
export type Evaluated = Set<string | number>;

/** Functions and state that the checks of single keywords use. */
export interface CheckContext {
  /** Returns the problem of a contained value; `at` is its path. */
  checkValue(schema: JsonSchema, value: unknown, at: string): string | undefined;
  /** Returns the problem of the value itself under another schema, whose evaluated members count. */
  checkSameValue(schema: JsonSchema, value: unknown, at: string): string | undefined;
  readonly languages: LanguageFactory;
  /** Collects the evaluated parts of the value; undefined when no keyword needs them. */
  readonly evaluated: Evaluated | undefined;
  /** Counts steps. @throws CheckLimitError above the limit. */
  countSteps(count: number): void;
}

export function checkNumber(keywords: SchemaKeywords, value: number, at: string): string | undefined {
  const { minimum, exclusiveMinimum, maximum, exclusiveMaximum, multipleOf } = keywords;
  if (minimum !== undefined && value < minimum) return `${at} must be at least ${minimum}`;
  if (exclusiveMinimum !== undefined && value <= exclusiveMinimum) return `${at} must be above ${exclusiveMinimum}`;
  if (maximum !== undefined && value > maximum) return `${at} must be at most ${maximum}`;
  if (exclusiveMaximum !== undefined && value >= exclusiveMaximum) return `${at} must be below ${exclusiveMaximum}`;
  if (multipleOf !== undefined && !isMultiple(value, multipleOf)) return `${at} must be a multiple of ${multipleOf}`;
  return undefined;
}

/** Compares decimal notations: 0.3 is a multiple of 0.1, although not as binary fractions. */
function isMultiple(value: number, step: number): boolean {
  const [a, b] = [toDecimal(value), toDecimal(step)];
  const exponent = Math.min(a.exponent, b.exponent);
  const scaled = ({ digits, exponent: decimalExponent }: Decimal): bigint =>
    digits * 10n ** BigInt(decimalExponent - exponent);
  return scaled(a) % scaled(b) === 0n;
}

export function checkString(
  { path, minLength = 0, maxLength = Infinity, pattern, format }: SchemaKeywords,
  value: string,
  at: string,
  { languages, countSteps }: Pick<CheckContext, 'languages' | 'countSteps'>,
): string | undefined {
  countSteps(value.length / 16);
  if (
    value.length < minLength ||
    (value.length > maxLength && countCodePoints(value) > maxLength) ||
    countCodePoints(value) < minLength
  )
    return `${at} must have ${formatCountRange(minLength, maxLength)} characters`;
  if (pattern !== undefined && !acceptsText(languages.getPatternLanguage(pattern, path), value))
    return `${at} must match its pattern`;
  return format === undefined || isOfFormat(value, format) ? undefined : `${at} must have the format ${format}`;
}

export function checkArray(
  keywords: SchemaKeywords,
  value: readonly unknown[],
  at: string,
  { checkValue, countSteps, evaluated }: CheckContext,
): string | undefined {
  const { minItems = 0, maxItems = Infinity, contains, minContains = 1, maxContains = Infinity } = keywords;
  if (value.length < minItems || value.length > maxItems)
    return `${at} must have ${formatCountRange(minItems, maxItems)} items`;
  for (const [index, each] of value.entries()) {
    const schema = keywords.prefixItems?.[index] ?? keywords.items;
    if (schema === undefined) continue;
    const problem = checkValue(schema, each, `${at}[${index}]`);
    if (problem !== undefined) return problem;
    evaluated?.add(index);
  }
  if (contains !== undefined) {
    const matching = value
      .keys()
      .filter((index) => checkValue(contains, value[index], `${at}[${index}]`) === undefined);
    const indexes = [...matching];
    if (indexes.length < minContains || indexes.length > maxContains)
      return `${at} must contain ${formatCountRange(minContains, maxContains)} matching items, but contains ${indexes.length}`;
    for (const index of indexes) evaluated?.add(index);
  }
  if (keywords.uniqueItems && new Set(value.map((each) => createJsonKey(each, countSteps))).size < value.length)
    return `${at} must not contain duplicate items`;
  return undefined;
}

export function checkObject(
  keywords: SchemaKeywords,
  value: Readonly<Record<string, unknown>>,
  at: string,
  checking: CheckContext,
): string | undefined {
  const names = Object.keys(value);
  const { minProperties = 0, maxProperties = Infinity } = keywords;
  if (names.length < minProperties || names.length > maxProperties)
    return `${at} must have ${formatCountRange(minProperties, maxProperties)} properties`;
  for (const name of keywords.required ?? []) {
    if (!Object.hasOwn(value, name)) return `${at} must have ${formatName(name)}`;
  }
  for (const name of names) {
    const problem = checkMember(keywords, { name, value: value[name] }, at, checking);
    if (problem !== undefined) return problem;
  }
  return checkDependents(keywords, value, at, checking);
}

interface ObjectMember {
  readonly name: string;
  readonly value: unknown;
}

function checkMember(
  { path, properties, patternProperties, additionalProperties, propertyNames }: SchemaKeywords,
  { name, value }: ObjectMember,
  at: string,
  { checkValue, languages, countSteps, evaluated }: CheckContext,
): string | undefined {
  countSteps(1 + (patternProperties?.size ?? 0));
  const memberPath = `${at}.${formatName(name)}`;
  if (propertyNames !== undefined && checkValue(propertyNames, name, memberPath) !== undefined)
    return `${memberPath} has a name that is not allowed`;
  const declared = properties?.get(name);
  const schemas = declared === undefined ? [] : [declared];
  for (const [pattern, schema] of patternProperties ?? [])
    if (acceptsText(languages.getPatternLanguage(pattern, path), name)) schemas.push(schema);
  if (schemas.length === 0 && additionalProperties !== undefined) schemas.push(additionalProperties);
  for (const schema of schemas) {
    const problem = checkValue(schema, value, memberPath);
    if (problem !== undefined) return problem;
  }
  if (schemas.length > 0) evaluated?.add(name);
  return undefined;
}

function checkDependents(
  { dependentRequired, dependentSchemas }: SchemaKeywords,
  value: Readonly<Record<string, unknown>>,
  at: string,
  { checkSameValue }: CheckContext,
): string | undefined {
  for (const [name, required] of dependentRequired ?? []) {
    const missing = Object.hasOwn(value, name) ? required.find((each) => !Object.hasOwn(value, each)) : undefined;
    if (missing !== undefined) return `${at} must have ${formatName(missing)} along with ${formatName(name)}`;
  }
  for (const [name, schema] of dependentSchemas ?? []) {
    const problem = Object.hasOwn(value, name) ? checkSameValue(schema, value, at) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** Formats a name for a path, truncated when it is long. */
const formatName = (name: string): string => {
  const short = name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX).toWellFormed()}…` : name;
  return /^\w+$/.test(short) ? short : JSON.stringify(short);
};

const NAME_CHARACTERS_MAX = 60;

/**
 * Formats the bounds of a count, for example `2 to 5` or `at least 2`. At least one bound applies: `min` > 0 or finite
 * `max`.
 */
function formatCountRange(min: number, max: number): string {
  if (max === Infinity) return `at least ${min}`;
  if (min === 0) return `at most ${max}`;
  return min === max ? `exactly ${min}` : `${min} to ${max}`;
}

/** Maximum nesting depth of a value. Bounds the recursion. */
const DEPTH_MAX = 500;

/**
 * Returns a text that is equal for equal JSON values, whatever the order of their keys.
 *
 * @param countSteps Called with the steps of each part, so that the caller can limit them.
 * @throws CheckLimitError for a value that is nested too deeply.
 */
export function createJsonKey(value: unknown, countSteps: (count: number) => void, depth = 0): string {
  countSteps(1);
  if (depth === DEPTH_MAX) throw createDepthError();
  const inner = (each: unknown): string => createJsonKey(each, countSteps, depth + 1);
  if (Array.isArray(value)) return `[${value.map(inner).join()}]`;
  if (typeof value !== 'object' || value === null) {
    if (typeof value === 'string') countSteps(value.length / 16);
    return JSON.stringify(value);
  }
  const members = Object.entries(value).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return `{${members.map(([name, each]) => `${JSON.stringify(name)}:${inner(each)}`).join()}}`;
}

/** Checks the members that no other keyword of the schema has evaluated; afterwards, they count as evaluated. */
export function checkUnevaluated(
  { unevaluatedItems, unevaluatedProperties }: SchemaKeywords,
  value: unknown,
  at: string,
  { checkValue, countSteps, evaluated }: CheckContext,
): string | undefined {
  const isArray = Array.isArray(value);
  const schema = isArray ? unevaluatedItems : isRecord(value) ? unevaluatedProperties : undefined;
  if (schema === undefined || evaluated === undefined) return undefined;
  const members: readonly [string | number, unknown][] = isArray ? [...value.entries()] : Object.entries(value ?? {});
  for (const [key, member] of members) {
    countSteps(1);
    if (evaluated.has(key)) continue;
    const problem = checkValue(schema, member, typeof key === 'number' ? `${at}[${key}]` : `${at}.${formatName(key)}`);
    if (problem !== undefined) return problem;
    evaluated.add(key);
  }
  return undefined;
}
