import { countRange } from './count-range.ts';
import { jsonKey } from './json-key.ts';
import type { Keywords } from './keywords.ts';
import type { Checking } from './validator.ts';

export function arrayProblem(
  keywords: Keywords,
  value: readonly unknown[],
  at: string,
  { inner, step }: Checking,
): string | undefined {
  const { minItems = 0, maxItems = Infinity, contains, minContains = 1, maxContains = Infinity } = keywords;
  if (value.length < minItems || value.length > maxItems)
    return `${at} must have ${countRange(minItems, maxItems)} items`;
  for (const [index, each] of value.entries()) {
    const schema = keywords.prefixItems?.[index] ?? keywords.items;
    const problem = schema === undefined ? undefined : inner(schema, each, `${at}[${index}]`);
    if (problem !== undefined) return problem;
  }
  if (contains !== undefined) {
    const count = value.filter((each, index) => inner(contains, each, `${at}[${index}]`) === undefined).length;
    if (count < minContains || count > maxContains)
      return `${at} must contain ${countRange(minContains, maxContains)} items that fit, has ${count}`;
  }
  if (keywords.uniqueItems && new Set(value.map((each) => jsonKey(each, step))).size < value.length)
    return `${at} must not hold an item twice`;
  return undefined;
}
