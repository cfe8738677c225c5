import type { JsonSchema } from '../core/grammar.ts';
import { SCHEMA_CHECK_STEPS_MAX, SCHEMA_DEPTH_MAX } from './limits.ts';
import {
  checkArray,
  checkNumber,
  checkObject,
  checkString,
  checkUnevaluated,
  createJsonKey,
  type CheckContext,
  type Evaluated,
} from './check-keywords.ts';
import { CheckLimitError, createDepthError } from './check-limit-error.ts';
import { getValueKind, type SchemaKeywords } from './keywords.ts';
import type { LanguageFactory } from './language-factory.ts';
import type { DynamicReference, SchemaDocument, SchemaObject, SchemaResource } from './schema-document.ts';
import { isRecord } from '../lib/is-record.ts';

/**
 * Validates values against schemas with a limited number of steps. Patterns are automata, so that they take linear
 * time.
 */
export interface Validator {
  /** Returns what is wrong with the value, beginning with its path (`$.a[0]`), or undefined. */
  findProblem(schema: JsonSchema, value: unknown): string | undefined;
  /**
   * Checks one schema's own keywords, except those for unevaluated members and those that combine schemas. All calls
   * share one limit of steps. True where a `$dynamicRef` depends on the enclosing schemas.
   */
  isValid(part: SchemaKeywords, value: unknown): boolean;
  /** Precomputes the keys of allowed values. @throws CheckLimitError when that takes too many steps. */
  prepare(keywords: SchemaKeywords): void;
}

export interface ValidatorDeps {
  readonly document: SchemaDocument;
  getKeywords(schema: SchemaObject): SchemaKeywords;
  readonly languages: LanguageFactory;
}

export function createValidator({ document, getKeywords, languages }: ValidatorDeps): Validator {
  const valueKeys = new Map<readonly unknown[], ReadonlySet<string>>();
  /** The resources of the schemas that are being checked, outermost first. */
  const scope: SchemaResource[] = [];
  let isScopePartial = false;
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

  function checkValue(schema: JsonSchema, value: unknown, at: string, collector?: Evaluated): string | undefined {
    countSteps(1);
    if (typeof schema === 'boolean') return schema ? undefined : `${at} is not allowed`;
    if (depth === SCHEMA_DEPTH_MAX * 4) throw createDepthError();
    depth++;
    const resource = document.getResource(schema);
    if (resource) scope.push(resource);
    const keywords = getKeywords(schema);
    const needsEvaluated =
      collector !== undefined ||
      keywords.unevaluatedItems !== undefined ||
      keywords.unevaluatedProperties !== undefined;
    const evaluated = needsEvaluated ? new Set<string | number>() : undefined;
    const context = createContext(evaluated);
    const problem =
      checkOwnKeywords(keywords, value, at, context) ??
      checkCombinations(keywords, value, at, context) ??
      checkUnevaluated(keywords, value, at, context);
    if (problem === undefined && collector) addEvaluated(collector, evaluated);
    if (resource) scope.pop();
    depth--;
    return problem;
  }

  function addEvaluated(collector: Evaluated, evaluated: Evaluated = new Set()): void {
    countSteps(evaluated.size);
    for (const key of evaluated) collector.add(key);
  }

  const createContext = (evaluated: Evaluated | undefined): CheckContext => ({
    checkValue: (schema, value, at) => checkValue(schema, value, at),
    checkSameValue: (schema, value, at) => checkValue(schema, value, at, evaluated),
    languages,
    evaluated,
    countSteps,
  });

  function checkOwnKeywords(
    keywords: SchemaKeywords,
    value: unknown,
    at: string,
    context: CheckContext,
  ): string | undefined {
    if (keywords.kinds && !keywords.kinds.has(getValueKind(value)))
      return `${at} must be of type ${[...keywords.kinds].join(' or ')}`;
    for (const values of keywords.values) {
      if (!getValueKeys(values).has(createJsonKey(value, countSteps))) return `${at} must be one of the allowed values`;
    }
    return (
      (typeof value === 'number' ? checkNumber(keywords, value, at) : undefined) ??
      (typeof value === 'string' ? checkString(keywords, value, at, context) : undefined) ??
      (Array.isArray(value) ? checkArray(keywords, value, at, context) : undefined) ??
      (isRecord(value) ? checkObject(keywords, value, at, context) : undefined) ??
      checkConditions(keywords, value, at, context)
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

  function checkConditions(
    keywords: SchemaKeywords,
    value: unknown,
    at: string,
    { checkSameValue }: CheckContext,
  ): string | undefined {
    if (keywords.not !== undefined && checkValue(keywords.not, value, at) === undefined)
      return `${at} must not match the schema in "not"`;
    if (keywords.condition === undefined) return undefined;
    const isTrue = checkSameValue(keywords.condition, value, at) === undefined;
    const branch = isTrue ? keywords.whenTrue : keywords.whenFalse;
    return branch === undefined ? undefined : checkSameValue(branch, value, at);
  }

  function checkCombinations(
    { target, dynamic, allOf, anyOf, oneOf }: SchemaKeywords,
    value: unknown,
    at: string,
    { checkSameValue, evaluated }: CheckContext,
  ): string | undefined {
    const required = [...(target === undefined ? [] : [target]), ...(dynamic ? [findDynamicTarget(dynamic)] : [])];
    for (const schema of [...required, ...(allOf ?? [])]) {
      const problem = checkSameValue(schema, value, at);
      if (problem !== undefined) return problem;
    }
    const matches = (schema: JsonSchema): boolean => checkSameValue(schema, value, at) === undefined;
    // Every matching schema evaluates members, so that none may be left out.
    if (anyOf && !(evaluated ? anyOf.filter(matches).length > 0 : anyOf.some(matches)))
      return `${at} must match a schema in anyOf`;
    if (!oneOf) return undefined;
    const count = oneOf.filter(matches).length;
    return count === 1 ? undefined : `${at} must match exactly one schema in oneOf, but matches ${count}`;
  }

  /** Finds the outermost resource that this check has entered and that has the dynamic anchor. */
  function findDynamicTarget({ target, name }: DynamicReference): JsonSchema {
    if (name === undefined) return target;
    if (isScopePartial) throw new UnknownScopeError();
    for (const { dynamicAnchors } of scope) {
      const found = dynamicAnchors.get(name);
      if (found) return found;
    }
    return target;
  }

  function isValidPart(part: SchemaKeywords, value: unknown): boolean {
    scope.length = 0;
    isScopePartial = true;
    try {
      return checkOwnKeywords(part, value, '$', createContext(undefined)) === undefined;
    } catch (error) {
      if (error instanceof UnknownScopeError) return true;
      throw error;
    } finally {
      isScopePartial = false;
    }
  }

  return {
    findProblem(schema, value) {
      steps = 0;
      // A check that threw an error leaves a depth and a scope behind.
      depth = 0;
      scope.length = 0;
      return checkValue(schema, value, '$');
    },
    prepare: ({ values }) => values.forEach(getValueKeys),
    isValid: isValidPart,
  };
}

/** Thrown when the target of a `$dynamicRef` depends on schemas that enclose the checked one. */
class UnknownScopeError extends Error {}
