import type { JsonSchema } from '../core/grammar.ts';
import { SCHEMA_CHECK_STEPS_MAX, SCHEMA_DEPTH_MAX } from './limits.ts';
import {
  checkArray,
  checkNumber,
  checkObject,
  checkString,
  createJsonKey,
  type CheckContext,
} from './check-keywords.ts';
import { CheckLimitError, createDepthError } from './check-limit-error.ts';
import type { SchemaKeywords, ValueKind } from './keywords.ts';
import type { LanguageFactory } from './language-factory.ts';
import type { SchemaObject } from './schema-document.ts';
import { isRecord } from '../lib/is-record.ts';

/**
 * Validates values against schemas with a limited number of steps. Patterns are automata, so that they take linear
 * time.
 */
export interface Validator {
  /** Returns what is wrong with the value, beginning with its path (`$.a[0]`), or undefined. */
  findProblem(schema: JsonSchema, value: unknown): string | undefined;
  /** Checks one schema's own keywords, except allOf, anyOf, oneOf and `$ref`. All calls share one limit of steps. */
  isValid(part: SchemaKeywords, value: unknown): boolean;
  /** Precomputes the keys of allowed values. @throws CheckLimitError when that takes too many steps. */
  prepare(keywords: SchemaKeywords): void;
}

export interface ValidatorDeps {
  getKeywords(schema: SchemaObject): SchemaKeywords;
  readonly languages: LanguageFactory;
}

export function createValidator({ getKeywords, languages }: ValidatorDeps): Validator {
  const valueKeys = new Map<readonly unknown[], ReadonlySet<string>>();
  let steps = 0;
  let keySteps = 0;
  let depth = 0;

  function countSteps(count: number): void {
    steps += count;
    if (steps > SCHEMA_CHECK_STEPS_MAX) throw new CheckLimitError('takes too long to check');
  }

  /** Counted once per schema, separately from the steps of a value. */
  function countKeySteps(count: number): void {
    keySteps += count;
    if (keySteps > SCHEMA_CHECK_STEPS_MAX) throw new CheckLimitError('takes too long to compare');
  }

  function checkValue(schema: JsonSchema, value: unknown, at: string): string | undefined {
    countSteps(1);
    if (typeof schema === 'boolean') return schema ? undefined : `${at} is not allowed`;
    if (depth === SCHEMA_DEPTH_MAX * 4) throw createDepthError();
    depth++;
    const keywords = getKeywords(schema);
    const problem = checkOwnKeywords(keywords, value, at) ?? checkCombinations(keywords, value, at);
    depth--;
    return problem;
  }

  function checkOwnKeywords(keywords: SchemaKeywords, value: unknown, at: string): string | undefined {
    if (keywords.kinds && !keywords.kinds.has(getKind(value)))
      return `${at} must be of type ${[...keywords.kinds].join(' or ')}`;
    for (const values of keywords.values) {
      if (!getValueKeys(values).has(createJsonKey(value, countSteps))) return `${at} must be one of the allowed values`;
    }
    return (
      (typeof value === 'number' ? checkNumber(keywords, value, at) : undefined) ??
      (typeof value === 'string' ? checkString(keywords, value, at, checkContext) : undefined) ??
      (Array.isArray(value) ? checkArray(keywords, value, at, checkContext) : undefined) ??
      (isRecord(value) ? checkObject(keywords, value, at, checkContext) : undefined) ??
      checkConditions(keywords, value, at)
    );
  }

  /** Returns the keys of enum values; computed once, because an enum may be as long as a request body. */
  function getValueKeys(values: readonly unknown[]): ReadonlySet<string> {
    const known = valueKeys.get(values);
    if (known) return known;
    const keys = new Set(values.map((each) => createJsonKey(each, countKeySteps)));
    valueKeys.set(values, keys);
    return keys;
  }

  function checkConditions(keywords: SchemaKeywords, value: unknown, at: string): string | undefined {
    if (keywords.not !== undefined && checkValue(keywords.not, value, at) === undefined)
      return `${at} must not match the schema in "not"`;
    if (keywords.condition === undefined) return undefined;
    const branch = checkValue(keywords.condition, value, at) === undefined ? keywords.whenTrue : keywords.whenFalse;
    return branch === undefined ? undefined : checkValue(branch, value, at);
  }

  function checkCombinations(
    { target, allOf, anyOf, oneOf }: SchemaKeywords,
    value: unknown,
    at: string,
  ): string | undefined {
    for (const schema of [...(target === undefined ? [] : [target]), ...(allOf ?? [])]) {
      const problem = checkValue(schema, value, at);
      if (problem !== undefined) return problem;
    }
    if (anyOf && !anyOf.some((schema) => checkValue(schema, value, at) === undefined))
      return `${at} must match a schema in anyOf`;
    if (!oneOf) return undefined;
    const count = oneOf.filter((schema) => checkValue(schema, value, at) === undefined).length;
    return count === 1 ? undefined : `${at} must match exactly one schema in oneOf, but matches ${count}`;
  }

  const checkContext: CheckContext = { checkValue: checkValue, languages, countSteps: countSteps };
  return {
    findProblem(schema, value) {
      steps = 0;
      // A check that threw an error leaves a depth behind.
      depth = 0;
      return checkValue(schema, value, '$');
    },
    prepare: ({ values }) => values.forEach(getValueKeys),
    isValid: (part, value) => checkOwnKeywords(part, value, '$') === undefined,
  };
}

function getKind(value: unknown): ValueKind {
  if (value === null) return 'null';
  if (Array.isArray(value)) return 'array';
  switch (typeof value) {
    case 'boolean':
      return 'boolean';
    case 'number':
      return Number.isInteger(value) ? 'integer' : 'fraction';
    case 'string':
      return 'string';
    default:
      return 'object';
  }
}
