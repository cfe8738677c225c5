import { Arguments } from './parameters.ts';
import type { Rendering } from './rendering.ts';
import type { KeywordArguments, Value } from './values.ts';

export type Filter = (
  rendering: Rendering,
  value: Value,
  positional: readonly Value[],
  keyword: KeywordArguments,
) => Value;

/** Creates a filter with named parameters; the first `required` of them must be given. */
export const defineFilter =
  (
    name: string,
    names: readonly string[],
    required: number,
    run: (rendering: Rendering, value: Value, args: Arguments) => Value,
  ): Filter =>
  (rendering, value, positional, keyword) =>
    run(rendering, value, new Arguments(name, positional, keyword, names, required));
