import { Dict, DictView } from './dict.ts';
import { isIterable, getLength } from './iterate.ts';
import { applyBinary, applyCompare, contains } from './operators.ts';
import type { CompareOperator } from './ast.ts';
import type { Rendering } from './rendering.ts';
import { isLower, isUpper } from './string-case.ts';
import { toText } from './text.ts';
import { TemplateError } from './template-error.ts';
import {
  Callable,
  Float,
  getTypeName,
  isInteger,
  isString,
  Markup,
  toNumber,
  typeError,
  Undefined,
  type KeywordArguments,
  type Value,
} from './values.ts';

type Test = (rendering: Rendering, value: Value, first: Value) => boolean;

/** A test and the number of arguments that it needs besides its value. */
type TestEntry = readonly [test: Test, argumentCount: number];

const hasRemainder = (rendering: Rendering, value: Value, divisor: Value): boolean =>
  toNumber(applyBinary(rendering, '%', value, divisor)) !== 0;

const compare =
  (operator: CompareOperator): Test =>
  (rendering, value, other) =>
    applyCompare(rendering, operator, value, other);

const isSame = (value: Value, other: Value): boolean =>
  value === other || (value instanceof Undefined && value === other);

const WITHOUT_ARGUMENTS: Readonly<Record<string, Test>> = {
  odd: (rendering, value) => hasRemainder(rendering, value, 2),
  even: (rendering, value) => !hasRemainder(rendering, value, 2),
  defined: (_, value) => !(value instanceof Undefined),
  undefined: (_, value) => value instanceof Undefined,
  none: (_, value) => value === null,
  boolean: (_, value) => typeof value === 'boolean',
  false: (_, value) => value === false,
  true: (_, value) => value === true,
  integer: (_, value) => typeof value === 'number' && isInteger(value),
  float: (_, value) => value instanceof Float || (typeof value === 'number' && !isInteger(value)),
  lower: (rendering, value) => isLower(toText(rendering, value)),
  upper: (rendering, value) => isUpper(toText(rendering, value)),
  string: (_, value) => isString(value),
  mapping: (_, value) => value instanceof Dict,
  number: (_, value) => toNumber(value) !== undefined,
  sequence: (_, value) => !(value instanceof DictView) && getLength(value) !== undefined,
  iterable: (_, value) => isIterable(value),
  callable: (_, value) => value instanceof Callable,
  escaped: (_, value) => value instanceof Markup,
};

const WITH_ARGUMENT: Readonly<Record<string, Test>> = {
  divisibleby: (rendering, value, divisor) => !hasRemainder(rendering, value, divisor),
  sameas: (_, value, other) => isSame(value, other),
  in: (rendering, value, container) => contains(rendering, container, value),
};

const COMPARISONS: readonly (readonly [operator: CompareOperator, names: readonly string[]])[] = [
  ['==', ['==', 'eq', 'equalto']],
  ['!=', ['!=', 'ne']],
  ['>', ['>', 'gt', 'greaterthan']],
  ['>=', ['>=', 'ge']],
  ['<', ['<', 'lt', 'lessthan']],
  ['<=', ['<=', 'le']],
];

const TESTS: ReadonlyMap<string, TestEntry> = new Map<string, TestEntry>([
  ...Object.entries(WITHOUT_ARGUMENTS).map(([name, test]) => [name, [test, 0]] as const),
  ...Object.entries(WITH_ARGUMENT).map(([name, test]) => [name, [test, 1]] as const),
  ...COMPARISONS.flatMap(([operator, names]) => names.map((name) => [name, [compare(operator), 1]] as const)),
]);

/** Applies a test by its name. @throws TemplateError when there is no such test, or for other arguments than it has. */
export function applyTest(
  rendering: Rendering,
  name: string,
  value: Value,
  positional: readonly Value[],
  keyword: KeywordArguments,
): boolean {
  rendering.spend(1);
  const [test, argumentCount] = TESTS.get(name) ?? [];
  if (!test || argumentCount === undefined)
    throw new TemplateError('TemplateRuntimeError', `No test named '${name}' found.`);
  const args = [...positional, ...keyword.values()];
  if (args.length !== argumentCount)
    throw typeError(
      `the test '${name}' has ${argumentCount} arguments, but ${args.length} were given (${getTypeName(value)})`,
    );
  return test(rendering, value, args[0] ?? null);
}
