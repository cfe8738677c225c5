import { Dict, DictView } from './dict.ts';
import { toList } from './iterate.ts';
import { areEqual } from './operators.ts';
import { Arguments } from './parameters.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import { getTypeName, orElse, Tuple, typeError, type KeywordArguments, type Value } from './values.ts';

export type Method = (
  rendering: Rendering,
  self: Value,
  positional: readonly Value[],
  keyword: KeywordArguments,
) => Value;

const dictMethod =
  (name: string, names: readonly string[], required: number, run: (dict: Dict, args: Arguments) => Value): Method =>
  (_rendering, self, positional, keyword) => {
    if (!(self instanceof Dict)) throw typeError(`${name}() needs a dict`);
    return run(self, new Arguments(name, positional, keyword, names, required));
  };

export const DICT_METHODS: ReadonlyMap<string, Method> = new Map([
  [
    'get',
    dictMethod('get', ['key', 'default'], 1, (dict, args) =>
      orElse(dict.get(args.getOrNone(0)), () => args.getOrNone(1)),
    ),
  ],
  ['keys', dictMethod('keys', [], 0, (dict) => new DictView('dict_keys', dict))],
  ['values', dictMethod('values', [], 0, (dict) => new DictView('dict_values', dict))],
  ['items', dictMethod('items', [], 0, (dict) => new DictView('dict_items', dict))],
  ['copy', dictMethod('copy', [], 0, (dict) => Dict.from(dict.entries()))],
  [
    'pop',
    dictMethod('pop', ['key', 'default'], 1, (dict, args) => {
      const [key, fallback] = [args.getOrNone(0), args.get(1)];
      const value = orElse(dict.get(key), () => {
        if (fallback === undefined) throw new TemplateError('KeyError', 'the dict has no such key');
        return fallback;
      });
      dict.delete(key);
      return value;
    }),
  ],
  [
    'update',
    (rendering, self, [other], keyword) => {
      if (!(self instanceof Dict)) throw typeError('update() needs a dict');
      rendering.spendElements(keyword.size);
      const entries = other instanceof Dict ? [...other.entries()] : [];
      for (const [key, value] of [...entries, ...keyword]) self.set(key, value);
      return null;
    },
  ],
]);

const getItems = (self: Value): readonly Value[] =>
  self instanceof Tuple ? self.items : Array.isArray(self) ? self : [];

/** Returns a list that a method changes; values of callers are copied before a template sees them. */
function getList(self: Value): Value[] {
  if (!Array.isArray(self)) throw typeError(`'${getTypeName(self)}' object cannot be changed`);
  return self;
}

export const LIST_METHODS: ReadonlyMap<string, Method> = new Map<string, Method>([
  [
    'index',
    (rendering, self, positional, keyword) => {
      const args = new Arguments('index', positional, keyword, ['value', 'start', 'stop'], 1);
      const items = getItems(self);
      const start = args.integer(1, 0);
      const from = start < 0 ? Math.max(0, items.length + start) : start;
      const index = items.findIndex((item, i) => i >= from && areEqual(rendering, item, args.getOrNone(0)));
      if (index < 0) throw new TemplateError('ValueError', 'the value is not in list');
      return index;
    },
  ],
  [
    'count',
    (rendering, self, positional, keyword) => {
      const args = new Arguments('count', positional, keyword, ['value'], 1);
      return getItems(self).filter((item) => areEqual(rendering, item, args.getOrNone(0))).length;
    },
  ],
  [
    'append',
    (_rendering, self, positional, keyword) => {
      getList(self).push(new Arguments('append', positional, keyword, ['object'], 1).getOrNone(0));
      return null;
    },
  ],
  [
    'pop',
    (_rendering, self, positional, keyword) => {
      const list = getList(self);
      const index = new Arguments('pop', positional, keyword, ['index'], 0).integer(0, -1);
      const [item] = list.splice(index, 1);
      if (item === undefined || index < -list.length - 1)
        throw new TemplateError('IndexError', 'pop index out of range');
      return item;
    },
  ],
  [
    'extend',
    (rendering, self, positional, keyword) => {
      const items = toList(rendering, new Arguments('extend', positional, keyword, ['iterable'], 1).getOrNone(0));
      for (const item of items) getList(self).push(item);
      return null;
    },
  ],
  ['copy', (_rendering, self) => [...getItems(self)]],
]);
