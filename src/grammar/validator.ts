import type { JsonSchema } from '../core/grammar.ts';
import { SCHEMA_CHECK_STEPS_MAX, SCHEMA_DEPTH_MAX } from '../core/limits.ts';
import { CheckLimitError } from './check-limit-error.ts';
import { arrayProblem } from './check-array.ts';
import { numberProblem } from './check-number.ts';
import { objectProblem } from './check-object.ts';
import { stringProblem } from './check-string.ts';
import { jsonKey } from './json-key.ts';
import type { Keywords, Kind } from './keywords.ts';
import type { Languages } from './languages.ts';
import type { SchemaObject } from './schema-document.ts';

/** Values against schemas, all keywords, in bounded steps. Patterns are automata: no text takes more than its length. */
export interface Validator {
  /** What is wrong with the value, beginning with its place (`$.a[0]`), or undefined. */
  problemOf(schema: JsonSchema, value: unknown): string | undefined;
  /** For one schema's own keywords, without its allOf, anyOf, oneOf and `$ref`. All calls together have so many steps. */
  isValid(part: Keywords, value: unknown): boolean;
  /** Works out what is compared with values; otherwise done when it is needed. @throws CheckLimitError where it is too much. */
  prepare(keywords: Keywords): void;
}

/** What the checks of single keywords need to go further down. */
export interface Checking {
  /** The problem of a value inside; `at` is its place. */
  inner(schema: JsonSchema, value: unknown, at: string): string | undefined;
  readonly languages: Languages;
  /** Counts work. */
  step(count: number): void;
}

export interface ValidatorNeeds {
  keywordsOf(schema: SchemaObject): Keywords;
  readonly languages: Languages;
}

export function createValidator({ keywordsOf, languages }: ValidatorNeeds): Validator {
  const valueKeys = new Map<readonly unknown[], ReadonlySet<string>>();
  let steps = 0;
  let keySteps = 0;
  let depth = 0;

  function step(count: number): void {
    steps += count;
    if (steps > SCHEMA_CHECK_STEPS_MAX) throw new CheckLimitError('takes too long to check');
  }

  /** Once for a schema, so that no value has to pay for it. */
  function keyStep(count: number): void {
    keySteps += count;
    if (keySteps > SCHEMA_CHECK_STEPS_MAX) throw new CheckLimitError('takes too long to compare with');
  }

  function inner(schema: JsonSchema, value: unknown, at: string): string | undefined {
    step(1);
    if (typeof schema === 'boolean') return schema ? undefined : `${at} must not be there`;
    if (depth === SCHEMA_DEPTH_MAX * 4) throw new CheckLimitError('is nested too deep to check');
    depth++;
    const keywords = keywordsOf(schema);
    const problem = ownProblem(keywords, value, at) ?? combinedProblem(keywords, value, at);
    depth--;
    return problem;
  }

  function ownProblem(keywords: Keywords, value: unknown, at: string): string | undefined {
    if (keywords.kinds && !keywords.kinds.has(kindOf(value)))
      return `${at} must be of type ${[...keywords.kinds].join(' or ')}`;
    for (const values of keywords.values) {
      if (!keysOf(values).has(jsonKey(value, step))) return `${at} must be one of the allowed values`;
    }
    return (
      (typeof value === 'number' ? numberProblem(keywords, value, at) : undefined) ??
      (typeof value === 'string' ? stringProblem(keywords, value, at, checking) : undefined) ??
      (Array.isArray(value) ? arrayProblem(keywords, value, at, checking) : undefined) ??
      (isRecord(value) ? objectProblem(keywords, value, at, checking) : undefined) ??
      conditionalProblem(keywords, value, at)
    );
  }

  /** Of the values of an enum; worked out once, since an enum may be as long as a body. */
  function keysOf(values: readonly unknown[]): ReadonlySet<string> {
    const known = valueKeys.get(values);
    if (known) return known;
    const keys = new Set(values.map((each) => jsonKey(each, keyStep)));
    valueKeys.set(values, keys);
    return keys;
  }

  function conditionalProblem(keywords: Keywords, value: unknown, at: string): string | undefined {
    if (keywords.not !== undefined && inner(keywords.not, value, at) === undefined)
      return `${at} must not be what "not" describes`;
    if (keywords.condition === undefined) return undefined;
    const branch = inner(keywords.condition, value, at) === undefined ? keywords.whenTrue : keywords.whenFalse;
    return branch === undefined ? undefined : inner(branch, value, at);
  }

  function combinedProblem({ target, allOf, anyOf, oneOf }: Keywords, value: unknown, at: string): string | undefined {
    for (const schema of [...(target === undefined ? [] : [target]), ...(allOf ?? [])]) {
      const problem = inner(schema, value, at);
      if (problem !== undefined) return problem;
    }
    if (anyOf && !anyOf.some((schema) => inner(schema, value, at) === undefined))
      return `${at} has none of the forms in anyOf`;
    if (!oneOf) return undefined;
    const count = oneOf.filter((schema) => inner(schema, value, at) === undefined).length;
    return count === 1 ? undefined : `${at} must have exactly one of the forms in oneOf, has ${count}`;
  }

  const checking: Checking = { inner, languages, step };
  return {
    problemOf(schema, value) {
      steps = 0;
      // A check that was broken off left it where it was.
      depth = 0;
      return inner(schema, value, '$');
    },
    prepare: ({ values }) => values.forEach(keysOf),
    isValid: (part, value) => ownProblem(part, value, '$') === undefined,
  };
}

const isRecord = (value: unknown): value is Readonly<Record<string, unknown>> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

function kindOf(value: unknown): Kind {
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
