import type { BinaryOperator, CompareOperator } from './ast.ts';
import { Dict, DictView } from './dict.ts';
import { elements, getLength, toList } from './iterate.ts';
import { formatPercent } from './percent-format.ts';
import type { Rendering } from './rendering.ts';
import { toMarkup } from './html.ts';
import { TemplateError, TemplateLimitError } from './template-error.ts';
import {
  createFloat,
  getText,
  getTypeName,
  isInteger,
  isString,
  Markup,
  Range,
  toNumber,
  Tuple,
  typeError,
  Undefined,
  type Value,
} from './values.ts';

/** @throws TemplateError as Python does for operands of other types. */
export function applyBinary(rendering: Rendering, operator: BinaryOperator, left: Value, right: Value): Value {
  if (left instanceof Undefined) return left.fail();
  if (operator === '%' && isString(left)) return formatPercent(rendering, left, right);
  if (right instanceof Undefined) return right.fail();
  const [a, b] = [toNumber(left), toNumber(right)];
  if (a !== undefined && b !== undefined) return calculate(operator, a, b, isInteger(left) && isInteger(right));
  const result =
    operator === '+'
      ? concatenate(rendering, left, right)
      : operator === '*'
        ? repeat(rendering, left, right)
        : undefined;
  if (result !== undefined) return rendering.charge(result);
  throw typeError(`unsupported operand type(s) for ${operator}: '${getTypeName(left)}' and '${getTypeName(right)}'`);
}

function calculate(operator: BinaryOperator, a: number, b: number, areIntegers: boolean): Value {
  if (b === 0 && (operator === '/' || operator === '//' || operator === '%'))
    throw new TemplateError('ZeroDivisionError', 'division by zero');
  if (operator === '/') return createFloat(a / b);
  if (operator === '**' && areIntegers && b < 0) return createFloat(a ** b);
  const result = CALCULATIONS[operator](a, b);
  if (!areIntegers) return createFloat(result);
  if (!Number.isSafeInteger(result)) throw new TemplateLimitError('an integer has more than 53 bits');
  return result + 0;
}

const modulo = (a: number, b: number): number => {
  const rest = a % b;
  return rest !== 0 && rest < 0 !== b < 0 ? rest + b : rest;
};

const CALCULATIONS: Readonly<Record<Exclude<BinaryOperator, '/'>, (a: number, b: number) => number>> = {
  '+': (a, b) => a + b,
  '-': (a, b) => a - b,
  '*': (a, b) => a * b,
  '//': (a, b) => Math.floor(a / b),
  '%': modulo,
  '**': (a, b) => a ** b,
};

function concatenate(rendering: Rendering, left: Value, right: Value): Value | undefined {
  if (typeof left === 'string' && typeof right === 'string') return left + right;
  if (isString(left) && isString(right)) return new Markup(toMarkup(rendering, left) + toMarkup(rendering, right));
  if (Array.isArray(left) && Array.isArray(right)) return [...left, ...right];
  if (left instanceof Tuple && right instanceof Tuple) return new Tuple([...left.items, ...right.items]);
  return undefined;
}

function repeat(rendering: Rendering, left: Value, right: Value): Value | undefined {
  if (isInteger(left)) return isInteger(right) ? undefined : repeat(rendering, right, left);
  if (!isInteger(right)) return undefined;
  const count = Math.max(0, Number(right));
  if (isString(left)) {
    rendering.spendChars(getText(left).length * count);
    const text = getText(left).repeat(count);
    return left instanceof Markup ? new Markup(text) : text;
  }
  const items = Array.isArray(left) ? left : left instanceof Tuple ? left.items : undefined;
  if (!items) return undefined;
  rendering.spendElements(items.length * count);
  const repeated = Array.from({ length: count }, () => items).flat() as Value[];
  return left instanceof Tuple ? new Tuple(repeated) : repeated;
}

export function applyCompare(rendering: Rendering, operator: CompareOperator, left: Value, right: Value): boolean {
  switch (operator) {
    case '==':
      return areEqual(rendering, left, right);
    case '!=':
      return !areEqual(rendering, left, right);
    case 'in':
      return contains(rendering, right, left);
    case 'not in':
      return !contains(rendering, right, left);
    case '<':
    case '<=':
    case '>':
    case '>=':
      return isOrdered(rendering, operator, left, right);
  }
}

function isOrdered(rendering: Rendering, operator: '<' | '<=' | '>' | '>=', left: Value, right: Value): boolean {
  const order = compareOrder(rendering, left, right, operator);
  if (Number.isNaN(order)) return false;
  return operator === '<' ? order < 0 : operator === '<=' ? order <= 0 : operator === '>' ? order > 0 : order >= 0;
}

/** Whether two values are equal in Python: 1, 1.0 and True are. */
export function areEqual(rendering: Rendering, left: Value, right: Value): boolean {
  rendering.spend(1);
  if (typeof left === 'string' && typeof right === 'string') return equalTexts(rendering, left, right);
  const [a, b] = [toNumber(left), toNumber(right)];
  if (a !== undefined || b !== undefined) return a === b;
  if (isString(left) && isString(right)) return equalTexts(rendering, getText(left), getText(right));
  if (Array.isArray(left)) return Array.isArray(right) && equalItems(rendering, left, right);
  if (left instanceof Tuple) return right instanceof Tuple && equalItems(rendering, left.items, right.items);
  if (left instanceof Undefined) return right instanceof Undefined;
  if (left instanceof Range && right instanceof Range)
    return equalItems(rendering, toList(rendering, left), toList(rendering, right));
  if (!(left instanceof Dict) || !(right instanceof Dict)) return left === right;
  if (left.size !== right.size) return false;
  for (const [key, value] of left.entries()) {
    const other = right.get(key);
    if (other === undefined || !areEqual(rendering, value, other)) return false;
  }
  return true;
}

function equalTexts(rendering: Rendering, left: string, right: string): boolean {
  if (left.length !== right.length) return false;
  rendering.spendChars(left.length);
  return left === right || rendering.restore(left) === rendering.restore(right);
}

const equalItems = (rendering: Rendering, left: readonly Value[], right: readonly Value[]): boolean =>
  left.length === right.length && left.every((item, i) => areEqual(rendering, item, right[i] ?? null));

/** Returns a negative number, 0, or a positive one; NaN for numbers without an order. @throws TemplateError `TypeError` */
export function compareOrder(rendering: Rendering, left: Value, right: Value, operator = '<'): number {
  rendering.spend(1);
  if (left instanceof Undefined) return left.fail();
  if (right instanceof Undefined) return right.fail();
  const [a, b] = [toNumber(left), toNumber(right)];
  if (a !== undefined && b !== undefined) return a === b ? 0 : a - b;
  if (isString(left) && isString(right))
    return compareTexts(rendering.restore(getText(left)), rendering.restore(getText(right)));
  const areLists = Array.isArray(left) && Array.isArray(right);
  if (areLists || (left instanceof Tuple && right instanceof Tuple)) {
    const first = Array.isArray(left) ? left : left.items;
    const second = Array.isArray(right) ? right : (right as Tuple).items;
    return compareItems(rendering, first, second, operator);
  }
  throw typeError(
    `'${operator}' not supported between instances of '${getTypeName(left)}' and '${getTypeName(right)}'`,
  );
}

function compareItems(rendering: Rendering, left: readonly Value[], right: readonly Value[], operator: string): number {
  for (const [i, item] of left.entries()) {
    const other = right[i];
    if (other === undefined) return 1;
    if (!areEqual(rendering, item, other)) return compareOrder(rendering, item, other, operator);
  }
  return left.length - right.length;
}

/** Compares by code points: JavaScript would compare by code units. */
function compareTexts(left: string, right: string): number {
  let i = 0;
  while (i < left.length && left[i] === right[i]) i++;
  const [a, b] = [left.charCodeAt(i), right.charCodeAt(i)];
  if (i >= left.length || i >= right.length) return left.length - right.length;
  const isSurrogate = (unit: number): number => (unit >= 0xd800 && unit <= 0xdfff ? 1 : 0);
  return isSurrogate(a) - isSurrogate(b) || a - b;
}

/** Python's `in`. */
export function contains(rendering: Rendering, container: Value, item: Value): boolean {
  rendering.charge(container);
  if (isString(container)) {
    if (item instanceof Undefined) return item.fail();
    if (!isString(item)) throw typeError(`'in <string>' requires string as left operand, not ${getTypeName(item)}`);
    return rendering.restore(getText(container)).includes(rendering.restore(getText(item)));
  }
  if (container instanceof Dict) return container.has(item);
  if (container instanceof DictView && container.typeName === 'dict_keys') return container.dict.has(item);
  if (getLength(container) === undefined && container !== null && typeof container !== 'object')
    throw typeError(`argument of type '${getTypeName(container)}' is not iterable`);
  for (const element of elements(container)) if (areEqual(rendering, element, item)) return true;
  return false;
}

export function applySign(operator: 'negative' | 'positive', value: Value): Value {
  if (value instanceof Undefined) return value.fail();
  const number = toNumber(value);
  if (number === undefined)
    throw typeError(`bad operand type for unary ${operator === 'negative' ? '-' : '+'}: '${getTypeName(value)}'`);
  const result = operator === 'negative' ? -number : number;
  return isInteger(value) ? result + 0 : createFloat(result);
}
