import { acceptsText } from './automaton.ts';
import { formatCountRange } from './format-count-range.ts';
import type { SchemaKeywords } from './keywords.ts';
import type { CheckContext } from './check-context.ts';

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
