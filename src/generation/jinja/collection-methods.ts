import { Dict, DictView } from './dict.ts';
import { areEqual } from './operators.ts';
import { Arguments } from './parameters.ts';
import type { Rendering } from './rendering.ts';
import { TemplateError } from './template-error.ts';
import { orElse, Tuple, typeError, type KeywordArguments, type Value } from './values.ts';

export type Method = (
  rendering: Rendering,
  self: Value,
  positional: readonly Value[],
  keyword: KeywordArguments,
) => Value;

/** Methods that jinja2's immutable sandbox refuses. */
export const MUTATING_METHODS: Readonly<Record<string, ReadonlySet<string>>> = {
  dict: new Set(['clear', 'pop', 'popitem', 'setdefault', 'update']),
  list: new Set(['append', 'clear', 'pop', 'reverse', 'insert', 'sort', 'extend', 'remove']),
};

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
]);

const getItems = (self: Value): readonly Value[] =>
  self instanceof Tuple ? self.items : Array.isArray(self) ? self : [];

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
  ['copy', (_rendering, self) => [...getItems(self)]],
]);
