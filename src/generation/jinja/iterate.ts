import { Dict, DictView } from './dict.ts';
import type { Rendering } from './rendering.ts';
import { Generator, getText, getTypeName, isString, Range, Tuple, typeError, Undefined, type Value } from './values.ts';

/** Whether Python can iterate over the value. */
export const isIterable = (value: Value): boolean =>
  isString(value) ||
  Array.isArray(value) ||
  value instanceof Dict ||
  value instanceof Tuple ||
  value instanceof DictView ||
  value instanceof Range ||
  value instanceof Generator ||
  value instanceof Undefined;

/** Returns an iterator over the value; of a text, over its code points. @throws TemplateError `TypeError` */
export function iterate(value: Value): Iterator<Value> {
  if (isString(value)) return getText(value)[Symbol.iterator]();
  if (Array.isArray(value)) return value[Symbol.iterator]();
  if (value instanceof Dict) return value.keys();
  if (value instanceof Tuple) return value.items[Symbol.iterator]();
  if (value instanceof DictView) return value.items();
  if (value instanceof Range) return iterateRange(value);
  if (value instanceof Generator) return value.iterator;
  if (value instanceof Undefined) return [][Symbol.iterator]();
  throw typeError(`'${getTypeName(value)}' object is not iterable`);
}

function* iterateRange(range: Range): globalThis.Generator<Value, undefined> {
  for (let i = 0; i < range.length; i++) yield range.at(i);
}

/** Returns the elements of a value as a new list. Each counts. */
export function toList(rendering: Rendering, value: Value): Value[] {
  const items: Value[] = [];
  const iterator = iterate(value);
  for (let step = iterator.next(); !step.done; step = iterator.next()) {
    items.push(step.value);
    if (items.length % 8 === 0) rendering.spend(1);
  }
  return items;
}

/** Iterates over any value. */
export function* elements(value: Value): globalThis.Generator<Value, undefined> {
  const iterator = iterate(value);
  for (let step = iterator.next(); !step.done; step = iterator.next()) yield step.value;
}

/** Characters outside the basic plane, which have two code units in JavaScript and one position in Python. */
const ASTRAL = /[\u{10000}-\u{10FFFF}]/u;

/** Returns the number of code points of a text. */
export function countCodePoints(text: string): number {
  if (!ASTRAL.test(text)) return text.length;
  let count = 0;
  for (const _ of text) count++;
  return count;
}

/** Returns the characters at positions that count code points. */
export const toCodePoints = (text: string): string | string[] => (ASTRAL.test(text) ? [...text] : text);

/** Returns Python's `len()`; undefined when the value has none. */
export function getLength(value: Value): number | undefined {
  if (isString(value)) return countCodePoints(getText(value));
  if (Array.isArray(value)) return value.length;
  if (value instanceof Dict) return value.size;
  if (value instanceof Tuple) return value.items.length;
  if (value instanceof DictView) return value.dict.size;
  if (value instanceof Range) return value.length;
  return value instanceof Undefined ? 0 : undefined;
}

/** Returns Python's `bool()`. */
export function isTrue(value: Value): boolean {
  if (typeof value === 'boolean') return value;
  if (value === null || value === '' || value === 0) return false;
  if (typeof value !== 'object') return true;
  if (Array.isArray(value)) return value.length > 0;
  if (value.typeName === 'float') return 'value' in value && value.value !== 0;
  const length = isString(value) ? value.text.length : getLength(value);
  return length === undefined || length > 0;
}
