import { Dict } from './dict.ts';
import { toList } from './iterate.ts';
import { TEMPLATE_RANGE_MAX } from './limits.ts';
import { Arguments } from './parameters.ts';
import type { Rendering } from './rendering.ts';
import { toText } from './text.ts';
import { TemplateError, TemplateLimitError } from './template-error.ts';
import { Callable, Namespace, PythonObject, Range, typeError, type KeywordArguments, type Value } from './values.ts';

function createDict(rendering: Rendering, [first]: readonly Value[], keyword: KeywordArguments): Dict {
  const dict = new Dict();
  if (first instanceof Dict) for (const [key, value] of first.entries()) dict.set(key, value);
  else if (first !== undefined)
    for (const pair of toList(rendering, first)) {
      const [key, value] = toList(rendering, pair);
      if (key === undefined || value === undefined) throw typeError('dictionary update sequence needs pairs');
      dict.set(key, value);
    }
  for (const [key, value] of keyword) dict.set(key, value);
  return dict;
}

function createRange(positional: readonly Value[], keyword: KeywordArguments): Range {
  const args = new Arguments('range', positional, keyword, ['start', 'stop', 'step'], 1);
  const [start, stop] = args.get(1) === undefined ? [0, args.integer(0, 0)] : [args.integer(0, 0), args.integer(1, 0)];
  const step = args.integer(2, 1);
  if (step === 0) throw new TemplateError('ValueError', 'range() arg 3 must not be zero');
  const range = new Range(start, stop, step);
  if (range.length > TEMPLATE_RANGE_MAX)
    throw new TemplateLimitError(`range() has more than ${TEMPLATE_RANGE_MAX} elements`);
  return range;
}

class Cycler extends PythonObject {
  readonly typeName = 'Cycler';
  readonly #items: readonly Value[];
  #position = 0;

  constructor(items: readonly Value[]) {
    super();
    this.#items = items;
  }

  override getAttribute(name: string): Value | undefined {
    const current = this.#items[this.#position] ?? null;
    if (name === 'current') return current;
    if (name !== 'next' && name !== 'reset') return undefined;
    return new Callable(name, () => {
      const item = this.#items[this.#position] ?? null;
      this.#position = name === 'next' ? (this.#position + 1) % this.#items.length : 0;
      return name === 'next' ? item : null;
    });
  }
}

/** Returns the functions that each template can call. */
export function createGlobals(rendering: Rendering): Map<string, Value> {
  const functions: Readonly<Record<string, Callable['call']>> = {
    range: createRange,
    dict: (positional, keyword) => createDict(rendering, positional, keyword),
    namespace: (positional, keyword) =>
      new Namespace(
        new Map(
          Array.from(createDict(rendering, positional, keyword).entries(), ([key, value]) => [
            toText(rendering, key),
            value,
          ]),
        ),
      ),
    cycler: (items) => {
      if (items.length === 0) throw typeError('at least one item has to be provided');
      return new Cycler(items);
    },
    joiner: ([separator = ', ']) => {
      let isUsed = false;
      return new Callable('joiner', () => {
        const text = isUsed ? separator : '';
        isUsed = true;
        return text;
      });
    },
  };
  return new Map(Object.entries(functions).map(([name, call]) => [name, new Callable(name, call)]));
}
