import { createGetter } from './attribute-path.ts';
import type { Filter } from './define-filter.ts';
import { elements, isTrue } from './iterate.ts';
import { findAttribute } from './members.ts';
import { NUMBER_FILTERS } from './number-filters.ts';
import type { Rendering } from './rendering.ts';
import { SEQUENCE_FILTERS } from './sequence-filters.ts';
import { TemplateError } from './template-error.ts';
import { applyTest } from './tests.ts';
import { TEXT_FILTERS } from './text-filters.ts';
import { toText } from './text.ts';
import { orElse, Generator, getTypeName, Undefined, type KeywordArguments, type Value } from './values.ts';

const argumentError = (message: string): TemplateError => new TemplateError('FilterArgumentError', message);

function* map(
  rendering: Rendering,
  value: Value,
  positional: readonly Value[],
  keyword: KeywordArguments,
): globalThis.Generator<Value, undefined> {
  if (!isTrue(value)) return;
  const [name, ...rest] = positional;
  if (name === undefined && keyword.has('attribute')) {
    for (const key of keyword.keys())
      if (key !== 'attribute' && key !== 'default') throw argumentError(`Unexpected keyword argument '${key}'`);
    const get = createGetter(rendering, keyword.get('attribute'), keyword.get('default') ?? null);
    for (const item of elements(value)) yield get(item);
    return;
  }
  if (name === undefined) throw argumentError('map requires a filter argument');
  for (const item of elements(value)) yield applyFilter(rendering, toText(rendering, name), item, rest, keyword);
}

/** Creates `select`, `reject` and the two that test an attribute. */
const selector =
  (accepts: boolean, hasAttribute: boolean): Filter =>
  (rendering, value, positional, keyword) =>
    new Generator(select(rendering, value, { positional, keyword, accepts, hasAttribute }));

interface Selection {
  readonly positional: readonly Value[];
  readonly keyword: KeywordArguments;
  readonly accepts: boolean;
  readonly hasAttribute: boolean;
}

function* select(
  rendering: Rendering,
  value: Value,
  { positional, keyword, accepts, hasAttribute }: Selection,
): globalThis.Generator<Value, undefined> {
  if (!isTrue(value)) return;
  if (hasAttribute && positional.length === 0) throw argumentError('Missing parameter for attribute name');
  const get = createGetter(rendering, hasAttribute ? positional[0] : null);
  const [name, ...rest] = hasAttribute ? positional.slice(1) : positional;
  for (const item of elements(value)) {
    const tested = get(item);
    const isAccepted =
      name === undefined ? isTrue(tested) : applyTest(rendering, toText(rendering, name), tested, rest, keyword);
    if (isAccepted === accepts) yield item;
  }
}

const attribute: Filter = (rendering, value, [name = null]) => {
  const text = toText(rendering, name);
  if (value instanceof Undefined) return value.fail();
  return orElse(
    findAttribute(rendering, value, text),
    () => new Undefined(`'${getTypeName(value)} object' has no attribute '${text}'`),
  );
};

const FILTERS: ReadonlyMap<string, Filter> = new Map<string, Filter>(
  Object.entries({
    ...SEQUENCE_FILTERS,
    ...TEXT_FILTERS,
    ...NUMBER_FILTERS,
    map: (rendering: Rendering, value: Value, positional: readonly Value[], keyword: KeywordArguments) =>
      new Generator(map(rendering, value, positional, keyword)),
    select: selector(true, false),
    reject: selector(false, false),
    selectattr: selector(true, true),
    rejectattr: selector(false, true),
    attr: attribute,
  }),
);

/** Filters that read no element of a list or an object: a template asks for the length in each iteration of a loop. */
const CONSTANT_TIME_FILTERS: ReadonlySet<string> = new Set(['length', 'count', 'default', 'd', 'first']);

/** Applies a filter by its name. @throws TemplateError when there is no such filter, or when it fails. */
export function applyFilter(
  rendering: Rendering,
  name: string,
  value: Value,
  positional: readonly Value[],
  keyword: KeywordArguments,
): Value {
  rendering.spend(1);
  const filter = FILTERS.get(name);
  if (!filter) throw new TemplateError('TemplateRuntimeError', `No filter named '${name}'.`);
  if (CONSTANT_TIME_FILTERS.has(name) && typeof value !== 'string')
    return filter(rendering, value, positional, keyword);
  rendering.charge(value);
  return rendering.charge(filter(rendering, value, positional, keyword));
}
