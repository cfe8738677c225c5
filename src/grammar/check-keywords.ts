import type { JsonSchema } from '../core/grammar.ts';
import type { LanguageFactory } from './language-factory.ts';
import { toDecimal, type Decimal } from './decimal.ts';
import type { SchemaKeywords } from './keywords.ts';
import { countCodePoints } from '../lib/code-points.ts';
import { acceptsText } from './automaton.ts';
import { createDepthError } from './check-limit-error.ts';

/** Functions that the checks of single keywords use for contained values. */
export interface CheckContext {
  /** Returns the problem of a contained value; `at` is its path. */
  checkValue(schema: JsonSchema, value: unknown, at: string): string | undefined;
  readonly languages: LanguageFactory;
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
  { languages, countSteps }: CheckContext,
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
  const language = format === undefined ? undefined : languages.getFormatLanguage(format, path);
  return language && !acceptsText(language, value) ? `${at} must have the format ${format}` : undefined;
}

export function checkArray(
  keywords: SchemaKeywords,
  value: readonly unknown[],
  at: string,
  { checkValue, countSteps }: CheckContext,
): string | undefined {
  const { minItems = 0, maxItems = Infinity, contains, minContains = 1, maxContains = Infinity } = keywords;
  if (value.length < minItems || value.length > maxItems)
    return `${at} must have ${formatCountRange(minItems, maxItems)} items`;
  for (const [index, each] of value.entries()) {
    const schema = keywords.prefixItems?.[index] ?? keywords.items;
    const problem = schema === undefined ? undefined : checkValue(schema, each, `${at}[${index}]`);
    if (problem !== undefined) return problem;
  }
  if (contains !== undefined) {
    const count = value.filter((each, index) => checkValue(contains, each, `${at}[${index}]`) === undefined).length;
    if (count < minContains || count > maxContains)
      return `${at} must contain ${formatCountRange(minContains, maxContains)} matching items, but contains ${count}`;
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
  { checkValue, languages, countSteps }: CheckContext,
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
  return undefined;
}

function checkDependents(
  { dependentRequired, dependentSchemas }: SchemaKeywords,
  value: Readonly<Record<string, unknown>>,
  at: string,
  { checkValue }: CheckContext,
): string | undefined {
  for (const [name, required] of dependentRequired ?? []) {
    const missing = Object.hasOwn(value, name) ? required.find((each) => !Object.hasOwn(value, each)) : undefined;
    if (missing !== undefined) return `${at} must have ${formatName(missing)} along with ${formatName(name)}`;
  }
  for (const [name, schema] of dependentSchemas ?? []) {
    const problem = Object.hasOwn(value, name) ? checkValue(schema, value, at) : undefined;
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
