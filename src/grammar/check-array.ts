import { formatCountRange } from './format-count-range.ts';
import { createJsonKey } from './json-key.ts';
import type { SchemaKeywords } from './keywords.ts';
import type { CheckContext } from './check-context.ts';

export function checkArray(
  keywords: SchemaKeywords,
  value: readonly unknown[],
  at: string,
  { checkValue, countSteps }: CheckContext,
): string | undefined {
  const { minItems = 0, maxItems = Infinity, contains, minContains = 1, maxContains = Infinity } = keywords;
  if (value.length < minItems || value.length > maxItems)
    return `${at} must have ${formatCountRange(minItems, maxItems)} items`;
  for (const [index, each] of value.entries()) {
    const schema = keywords.prefixItems?.[index] ?? keywords.items;
    const problem = schema === undefined ? undefined : checkValue(schema, each, `${at}[${index}]`);
    if (problem !== undefined) return problem;
  }
  if (contains !== undefined) {
    const count = value.filter((each, index) => checkValue(contains, each, `${at}[${index}]`) === undefined).length;
    if (count < minContains || count > maxContains)
      return `${at} must contain ${formatCountRange(minContains, maxContains)} matching items, but contains ${count}`;
  }
  if (keywords.uniqueItems && new Set(value.map((each) => createJsonKey(each, countSteps))).size < value.length)
    return `${at} must not contain duplicate items`;
  return undefined;
}
