import type { CallArguments, Expression } from './ast.ts';
import { Dict } from './dict.ts';
import { applyFilter } from './filters.ts';
import { elements, isTrue } from './iterate.ts';
import { getAttribute, getItem } from './members.ts';
import { applyBinary, applyCompare, applySign } from './operators.ts';
import type { Scope } from './scope.ts';
import { joinTexts, toText } from './text.ts';
import { applyTest } from './tests.ts';
import {
  Callable,
  createFloat,
  getText,
  getTypeName,
  isString,
  Slice,
  Tuple,
  typeError,
  Undefined,
  type Value,
} from './values.ts';

/** An expression that is ready to be evaluated. */
export type Evaluate = (scope: Scope) => Value;

/** Compiles an expression. `blockText` is the value of a filter without one: the text of a block. */
export function compileExpression(expression: Expression, blockText?: Evaluate): Evaluate {
  const compile = (inner: Expression): Evaluate => compileExpression(inner, blockText);
  switch (expression.type) {
    case 'constant':
    case 'integer': {
      const { value } = expression;
      return () => value;
    }
    case 'float': {
      const value = createFloat(expression.value);
      return () => value;
    }
    case 'name':
      return (scope) => scope.get(expression.name);
    case 'list':
    case 'tuple': {
      const items = expression.items.map(compile);
      const isList = expression.type === 'list';
      return (scope) => {
        scope.rendering.spend(1 + items.length);
        const values = items.map((item) => item(scope));
        return isList ? values : new Tuple(values);
      };
    }
    case 'dict': {
      const items = expression.items.map(([key, value]) => [compile(key), compile(value)] as const);
      return (scope) => {
        scope.rendering.spend(1 + items.length);
        return Dict.from(items.map(([key, value]) => [key(scope), value(scope)] as const));
      };
    }
    case 'condition':
      return compileCondition(expression, compile);
    case 'and':
    case 'or': {
      const [left, right] = [compile(expression.left), compile(expression.right)];
      const stopsAt = expression.type === 'or';
      return (scope) => {
        const value = left(scope);
        return isTrue(value) === stopsAt ? value : right(scope);
      };
    }
    case 'not': {
      const value = compile(expression.value);
      return (scope) => !isTrue(value(scope));
    }
    case 'negative':
    case 'positive': {
      const { type: sign } = expression;
      const value = compile(expression.value);
      return (scope) => applySign(sign, value(scope));
    }
    case 'compare':
      return compileCompare(expression, compile);
    case 'binary': {
      const [left, right] = [compile(expression.left), compile(expression.right)];
      return (scope) => {
        scope.rendering.spend(1);
        return applyBinary(scope.rendering, expression.operator, left(scope), right(scope));
      };
    }
    case 'concat': {
      const items = expression.items.map(compile);
      return (scope) => {
        scope.rendering.spend(items.length);
        return joinTexts(
          scope.rendering,
          items.map((item) => toText(scope.rendering, item(scope))),
          '',
        );
      };
    }
    case 'attribute': {
      const object = compile(expression.object);
      return (scope) => {
        scope.rendering.spend(1);
        return getAttribute(scope.rendering, object(scope), expression.name);
      };
    }
    case 'item': {
      const [object, key] = [compile(expression.object), compile(expression.key)];
      return (scope) => {
        scope.rendering.spend(1);
        return getItem(scope.rendering, object(scope), key(scope));
      };
    }
    case 'slice': {
      const parts = expression.parts.map((part) => part && compile(part));
      return (scope) => new Slice(parts.map((part) => part?.(scope) ?? null));
    }
    case 'call': {
      const [callee, args] = [compile(expression.callee), compileArguments(expression.args, compile)];
      return (scope) => call(scope, callee(scope), args(scope));
    }
    case 'filter': {
      const value = expression.value ? compile(expression.value) : blockText;
      const args = compileArguments(expression.args, compile);
      return (scope) => {
        const { positional, keyword } = args(scope);
        return applyFilter(scope.rendering, expression.name, value ? value(scope) : '', positional, keyword);
      };
    }
    case 'test': {
      const [value, args] = [compile(expression.value), compileArguments(expression.args, compile)];
      return (scope) => {
        const tested = value(scope);
        const { positional, keyword } = args(scope);
        return applyTest(scope.rendering, expression.name, tested, positional, keyword);
      };
    }
  }
}

function compileCondition(
  expression: Expression & { type: 'condition' },
  compile: (inner: Expression) => Evaluate,
): Evaluate {
  const [test, value] = [compile(expression.test), compile(expression.value)];
  const otherwise = expression.otherwise && compile(expression.otherwise);
  return (scope) => {
    if (isTrue(test(scope))) return value(scope);
    return otherwise
      ? otherwise(scope)
      : new Undefined('the inline if-expression evaluated to false and no else section was defined.');
  };
}

function compileCompare(
  expression: Expression & { type: 'compare' },
  compile: (inner: Expression) => Evaluate,
): Evaluate {
  const first = compile(expression.first);
  const others = expression.others.map(([operator, value]) => [operator, compile(value)] as const);
  return (scope) => {
    scope.rendering.spend(1);
    let left = first(scope);
    for (const [operator, value] of others) {
      const right = value(scope);
      if (!applyCompare(scope.rendering, operator, left, right)) return false;
      left = right;
    }
    return true;
  };
}

export interface CallValues {
  readonly positional: Value[];
  readonly keyword: Map<string, Value>;
}

export function compileArguments(
  { positional, keyword, spread, keywordSpread }: CallArguments,
  compile: (inner: Expression) => Evaluate,
): (scope: Scope) => CallValues {
  const values = positional.map(compile);
  const named = keyword.map(([name, value]) => [name, compile(value)] as const);
  const rest = spread && compile(spread);
  const namedRest = keywordSpread && compile(keywordSpread);
  return (scope) => {
    const result: CallValues = {
      positional: values.map((value) => value(scope)),
      keyword: new Map(named.map(([name, value]) => [name, value(scope)] as const)),
    };
    if (rest) for (const item of elements(rest(scope))) result.positional.push(item);
    const members = namedRest?.(scope);
    if (members === undefined) return result;
    if (!(members instanceof Dict)) throw typeError('argument after ** must be a mapping');
    for (const [key, value] of members.entries()) {
      if (!isString(key)) throw typeError('keywords must be strings');
      result.keyword.set(getText(key), value);
    }
    return result;
  };
}

/** @throws TemplateError for a value that cannot be called. */
export function call(scope: Scope, callee: Value, { positional, keyword }: CallValues): Value {
  scope.rendering.spend(1);
  if (callee instanceof Undefined) return callee.fail();
  if (!(callee instanceof Callable)) throw typeError(`'${getTypeName(callee)}' object is not callable`);
  return callee.call(positional, keyword);
}
