import { Dict } from './dict.ts';
import { likeValue } from './html.ts';
import { toCodePoints, toList } from './iterate.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import { toRepr, toText } from './text.ts';
import {
  Float,
  getText,
  getTypeName,
  isInteger,
  isString,
  Markup,
  Range,
  type Slice,
  Tuple,
  typeError,
  Undefined,
  type Value,
} from './values.ts';

/** Returns `object[key]` of a dict, a sequence or a text; undefined when there is none. */
export function findItem(rendering: Rendering, object: Value, key: Value): Value | undefined {
  if (object instanceof Dict) return Array.isArray(key) || key instanceof Dict ? undefined : object.get(key);
  if (!isInteger(key)) return undefined;
  const index = Number(key);
  if (Array.isArray(object)) return object.at(index);
  if (object instanceof Tuple) return object.items.at(index);
  if (object instanceof Range) {
    const position = index < 0 ? object.length + index : index;
    return position >= 0 && position < object.length ? object.at(position) : undefined;
  }
  if (!isString(object)) return undefined;
  rendering.charge(object);
  const text = toCodePoints(getText(object)).at(index);
  return text === undefined ? undefined : object instanceof Markup ? new Markup(text) : text;
}

/** Creates what a template gets for a missing member or attribute. */
export function createMissing(rendering: Rendering, object: Value, key: Value): Undefined {
  const owner = object === null ? 'None' : `'${getTypeName(object)} object'`;
  return new Undefined(
    typeof key === 'string'
      ? `${owner} has no attribute '${key}'`
      : `${owner} has no element ${toRepr(rendering, key)}`,
  );
}

/** Returns a part of a sequence or a text; bounds beyond its ends are moved to them, as in Python. */
export function slice(rendering: Rendering, object: Value, { parts }: Slice): Value | undefined {
  const source = isString(object)
    ? toCodePoints(getText(object))
    : object instanceof Tuple
      ? object.items
      : object instanceof Range
        ? toList(rendering, object)
        : object;
  if (typeof source !== 'string' && !Array.isArray(source)) return undefined;
  const [start, stop, step = 1] = parts.map((part) => toBound(part));
  if (step === 0) throw new TemplateError('ValueError', 'slice step cannot be zero');
  const { length } = source;
  const limit = (bound: number, low: number, high: number): number =>
    Math.min(high, Math.max(low, bound < 0 ? bound + length : bound));
  const [from, to] =
    step > 0
      ? [limit(start ?? 0, 0, length), limit(stop ?? length, 0, length)]
      : [limit(start ?? length, -1, length - 1), stop === undefined ? -1 : limit(stop, -1, length - 1)];
  const isText = typeof source === 'string';
  const items = sliceItems(isText && step !== 1 ? [...source] : source, from, to, step);
  if (typeof items === 'string') return likeValue(object, items);
  rendering.spendElements(items.length);
  // The characters of a text with astral characters, or of one that is read in steps.
  if (isString(object)) return likeValue(object, items.map((item) => toText(rendering, item)).join(''));
  return object instanceof Tuple ? new Tuple(items) : items;
}

function sliceItems(source: string | readonly Value[], from: number, to: number, step: number): string | Value[] {
  if (typeof source === 'string') return source.slice(from, Math.max(from, to));
  if (step === 1) return source.slice(from, Math.max(from, to));
  const items: Value[] = [];
  for (let i = from; step > 0 ? i < to : i > to; i += step) items.push(source[i] ?? null);
  return items;
}

function toBound(part: Value): number | undefined {
  if (part === null) return undefined;
  if (part instanceof Undefined || part instanceof Float || !isInteger(part))
    throw typeError('slice indices must be integers or None or have an __index__ method');
  return Number(part);
}
