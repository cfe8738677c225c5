import { createGetter, ignoreCase, type Getter } from './attribute-path.ts';
import { Dict, toMapKey } from './dict.ts';
import { defineFilter, type Filter } from './define-filter.ts';
import { elements, getLength, isTrue, iterate, toList } from './iterate.ts';
import { applyBinary, areEqual, compareOrder } from './operators.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import { joinTexts, toText } from './text.ts';
import {
  orElse,
  Generator,
  getText,
  getTypeName,
  Group,
  isString,
  Markup,
  Tuple,
  typeError,
  Undefined,
  type Value,
} from './values.ts';

/** Sorts stably by a key. @throws TemplateError `TypeError` for keys without an order. */
function sortBy(rendering: Rendering, items: Value[], key: Getter, isReverse = false): Value[] {
  const keyed = items.map((item) => ({ item, key: key(item) }));
  const sign = isReverse ? -1 : 1;
  keyed.sort((a, b) => {
    const order = compareOrder(rendering, a.key, b.key);
    return Number.isNaN(order) ? 0 : sign * order;
  });
  return keyed.map(({ item }) => item);
}

const createSortKey = (rendering: Rendering, attribute: Value | undefined, isCaseSensitive: boolean): Getter => {
  const get = createGetter(rendering, attribute);
  return isCaseSensitive ? get : (item) => ignoreCase(get(item));
};

/** Sorts by several attributes with commas between them. */
function createSortKeys(rendering: Rendering, attribute: Value | undefined, isCaseSensitive: boolean): Getter {
  const paths = attribute !== undefined && isString(attribute) ? getText(attribute).split(',') : [attribute];
  const keys = paths.map((path) => createSortKey(rendering, path, isCaseSensitive));
  return (item) => keys.map((key) => key(item));
}

const extreme = (name: string, sign: 1 | -1): Filter =>
  defineFilter(name, ['case_sensitive', 'attribute'], 0, (rendering, value, args) => {
    const key = createSortKey(rendering, args.get(1), args.isTrue(0));
    let best: Value | undefined;
    let bestKey: Value = null;
    for (const item of elements(value)) {
      const itemKey = key(item);
      if (best === undefined || sign * compareOrder(rendering, itemKey, bestKey, sign < 0 ? '>' : '<') < 0) {
        best = item;
        bestKey = itemKey;
      }
    }
    return orElse(best, () => new Undefined('No aggregated item, sequence was empty.'));
  });

const getRequiredLength = defineFilter('length', [], 0, (_, value) => {
  const length = getLength(value);
  if (length === undefined) throw typeError(`object of type '${getTypeName(value)}' has no len()`);
  return length;
});

const getItems = (value: Value): Dict => {
  if (value instanceof Undefined) value.fail();
  if (!(value instanceof Dict)) throw typeError(`'${getTypeName(value)}' object has no attribute 'items'`);
  return value;
};

const dictSort = defineFilter('dictsort', ['case_sensitive', 'by', 'reverse'], 0, (rendering, value, args) => {
  const index = ['key', 'value'].indexOf(args.text(1, 'key'));
  if (index < 0) throw new TemplateError('FilterArgumentError', 'You can only sort by either "key" or "value"');
  const items: Value[] = Array.from(getItems(value).entries(), (entry) => new Tuple(entry));
  const getKey = (item: Value): Value => (item instanceof Tuple ? (item.items[index] ?? null) : null);
  return sortBy(rendering, items, (item) => (args.isTrue(0) ? getKey(item) : ignoreCase(getKey(item))), args.isTrue(2));
});

function* unique(rendering: Rendering, value: Value, key: Getter): globalThis.Generator<Value, undefined> {
  const seen = new Set<unknown>();
  for (const item of elements(value)) {
    const mapKey = toMapKey(key(item));
    if (seen.has(mapKey)) continue;
    rendering.spend(1);
    seen.add(mapKey);
    yield item;
  }
}

const groupBy = defineFilter('groupby', ['attribute', 'default', 'case_sensitive'], 1, (rendering, value, args) => {
  const get = createGetter(rendering, args.get(0), args.getOrNone(1));
  const key: Getter = args.isTrue(2) ? get : (item) => ignoreCase(get(item));
  const groups: { key: Value; items: Value[] }[] = [];
  for (const item of sortBy(rendering, toList(rendering, value), key)) {
    const last = groups.at(-1);
    if (last && areEqual(rendering, last.key, key(item))) last.items.push(item);
    else groups.push({ key: key(item), items: [item] });
  }
  return groups.map(({ items }) => new Group([get(items[0] ?? null), items]));
});

function* batch(value: Value, size: number, fill: Value): globalThis.Generator<Value, undefined> {
  let row: Value[] = [];
  for (const item of elements(value)) {
    if (row.length === size) {
      yield row;
      row = [];
    }
    row.push(item);
  }
  if (row.length > 0) yield fill === null ? row : [...row, ...Array<Value>(Math.max(0, size - row.length)).fill(fill)];
}

function* slice(items: readonly Value[], count: number, fill: Value): globalThis.Generator<Value, undefined> {
  const size = Math.floor(items.length / count);
  const longer = items.length % count;
  for (let i = 0; i < count; i++) {
    const start = i * size + Math.min(i, longer);
    const row = items.slice(start, start + size + (i < longer ? 1 : 0));
    yield fill !== null && i >= longer ? [...row, fill] : row;
  }
}

function reverse(rendering: Rendering, value: Value): Value {
  if (isString(value)) {
    const text = Array.from(getText(value)).reverse().join('');
    return value instanceof Markup ? new Markup(text) : text;
  }
  if (value instanceof Undefined || value instanceof Generator) return toList(rendering, value).reverse();
  return new Generator(toList(rendering, value).reverse()[Symbol.iterator](), 'list_reverseiterator');
}

const first = defineFilter('first', [], 0, (_, value) => {
  const { value: item, done } = iterate(value).next();
  return done ? new Undefined('No first item, sequence was empty.') : item;
});

const last = defineFilter('last', [], 0, (rendering, value) => {
  if (value instanceof Generator) throw typeError(`'${value.typeName}' object is not reversible`);
  return orElse(toList(rendering, value).at(-1), () => new Undefined('No last item, sequence was empty.'));
});

/** Filters of sequences, by their names. */
export const SEQUENCE_FILTERS: Readonly<Record<string, Filter>> = {
  length: getRequiredLength,
  count: getRequiredLength,
  first,
  last,
  min: extreme('min', 1),
  max: extreme('max', -1),
  dictsort: dictSort,
  groupby: groupBy,
  list: defineFilter('list', [], 0, (rendering, value) => toList(rendering, value)),
  items: defineFilter('items', [], 0, (_, value) => {
    if (value instanceof Undefined) return new Generator([][Symbol.iterator]());
    if (!(value instanceof Dict)) throw typeError('Can only get item pairs from a mapping.');
    return new Generator(Iterator.from(value.entries()).map((entry): Value => new Tuple(entry)));
  }),
  sort: defineFilter('sort', ['reverse', 'case_sensitive', 'attribute'], 0, (rendering, value, args) =>
    sortBy(rendering, toList(rendering, value), createSortKeys(rendering, args.get(2), args.isTrue(1)), args.isTrue(0)),
  ),
  unique: defineFilter(
    'unique',
    ['case_sensitive', 'attribute'],
    0,
    (rendering, value, args) =>
      new Generator(unique(rendering, value, createSortKey(rendering, args.get(1), args.isTrue(0)))),
  ),
  join: defineFilter('join', ['d', 'attribute'], 0, (rendering, value, args) => {
    const get = createGetter(rendering, args.get(1));
    const texts: string[] = [];
    for (const item of elements(value)) texts.push(toText(rendering, get(item)));
    return joinTexts(
      rendering,
      texts,
      toText(
        rendering,
        orElse(args.get(0), () => ''),
      ),
    );
  }),
  sum: defineFilter('sum', ['attribute', 'start'], 0, (rendering, value, args) => {
    const get = createGetter(rendering, args.get(0));
    let sum: Value = orElse(args.get(1), () => 0);
    if (isString(sum)) throw typeError("sum() can't sum strings [use ''.join(seq) instead]");
    for (const item of elements(value)) sum = applyBinary(rendering, '+', sum, get(item));
    return sum;
  }),
  batch: defineFilter('batch', ['linecount', 'fill_with'], 1, (rendering, value, args) => {
    rendering.spendElements(args.integer(0, 0));
    return new Generator(batch(value, args.integer(0, 0), args.getOrNone(1)));
  }),
  slice: defineFilter('slice', ['slices', 'fill_with'], 1, (rendering, value, args) => {
    const count = args.integer(0, 0);
    if (count === 0) throw new TemplateError('ZeroDivisionError', 'integer division or modulo by zero');
    rendering.spend(Math.max(0, count));
    return new Generator(slice(toList(rendering, value), count, args.getOrNone(1)));
  }),
  reverse: defineFilter('reverse', [], 0, (rendering, value) => reverse(rendering, value)),
  default: defineFilter('default', ['default_value', 'boolean'], 0, applyDefault),
  d: defineFilter('d', ['default_value', 'boolean'], 0, applyDefault),
};

function applyDefault(
  _rendering: Rendering,
  value: Value,
  args: { get(index: number): Value | undefined; isTrue(index: number): boolean },
): Value {
  return value instanceof Undefined || (args.isTrue(1) && !isTrue(value)) ? orElse(args.get(0), () => '') : value;
}
