import { accepts } from './automaton.ts';
import { countRange } from './count-range.ts';
import type { Keywords } from './keywords.ts';
import type { Checking } from './validator.ts';

export function objectProblem(
  keywords: Keywords,
  value: Readonly<Record<string, unknown>>,
  at: string,
  checking: Checking,
): string | undefined {
  const names = Object.keys(value);
  const { minProperties = 0, maxProperties = Infinity } = keywords;
  if (names.length < minProperties || names.length > maxProperties)
    return `${at} must have ${countRange(minProperties, maxProperties)} properties`;
  for (const name of keywords.required ?? []) {
    if (!Object.hasOwn(value, name)) return `${at} must have ${quoted(name)}`;
  }
  for (const name of names) {
    const problem = memberProblem(keywords, { name, value: value[name] }, at, checking);
    if (problem !== undefined) return problem;
  }
  return dependentProblem(keywords, value, at, checking);
}

interface Member {
  readonly name: string;
  readonly value: unknown;
}

function memberProblem(
  { path, properties, patternProperties, additionalProperties, propertyNames }: Keywords,
  { name, value }: Member,
  at: string,
  { inner, languages, step }: Checking,
): string | undefined {
  step(1 + (patternProperties?.size ?? 0));
  const place = `${at}.${quoted(name)}`;
  if (propertyNames !== undefined && inner(propertyNames, name, place) !== undefined)
    return `${place} must not have this name`;
  const declared = properties?.get(name);
  const schemas = declared === undefined ? [] : [declared];
  for (const [pattern, schema] of patternProperties ?? [])
    if (accepts(languages.pattern(pattern, path), name)) schemas.push(schema);
  if (schemas.length === 0 && additionalProperties !== undefined) schemas.push(additionalProperties);
  for (const schema of schemas) {
    const problem = inner(schema, value, place);
    if (problem !== undefined) return problem;
  }
  return undefined;
}

function dependentProblem(
  { dependentRequired, dependentSchemas }: Keywords,
  value: Readonly<Record<string, unknown>>,
  at: string,
  { inner }: Checking,
): string | undefined {
  for (const [name, required] of dependentRequired ?? []) {
    const missing = Object.hasOwn(value, name) ? required.find((each) => !Object.hasOwn(value, each)) : undefined;
    if (missing !== undefined) return `${at} must have ${quoted(missing)} along with ${quoted(name)}`;
  }
  for (const [name, schema] of dependentSchemas ?? []) {
    const problem = Object.hasOwn(value, name) ? inner(schema, value, at) : undefined;
    if (problem !== undefined) return problem;
  }
  return undefined;
}

/** A name as it stands in a place, cut where it is long. */
const quoted = (name: string): string => {
  const short = name.length > NAME_CHARACTERS_MAX ? `${name.slice(0, NAME_CHARACTERS_MAX).toWellFormed()}…` : name;
  return /^\w+$/.test(short) ? short : JSON.stringify(short);
};

const NAME_CHARACTERS_MAX = 60;
