import { formatLiteral } from './gbnf.ts';
import type { RuleAlternative } from './rule-body.ts';
import type { GrammarBuilder } from './grammar-builder.ts';

/**
 * Creates alternatives for a list of texts. Common prefixes are written once, so that an engine follows a single parse;
 * common suffixes as well, because equal rules are shared.
 */
export function createTextChoice(texts: readonly string[], builder: GrammarBuilder): readonly RuleAlternative[] {
  const sorted = [...new Set(texts)].toSorted();
  return createChoice(sorted, 0, 0);

  function createChoice(group: readonly string[], from: number, depth: number): readonly RuleAlternative[] {
    if (group.length === 1 || depth === DEPTH_MAX) return group.map((text) => [formatLiteral(text.slice(from))]);
    const byFirst = Map.groupBy(group, (text) => getCodePoint(text, from));
    return [...byFirst.values()].map((branch): RuleAlternative => {
      const end = findCommonEnd(branch, from);
      const beginning = formatLiteral((branch[0] ?? '').slice(from, end));
      return branch.length === 1
        ? [beginning]
        : [beginning, builder.addRule({ alternatives: createChoice(branch, end, depth + 1) })];
    });
  }
}

/** Maximum number of nested common prefixes. Bounds the recursion. */
const DEPTH_MAX = 200;

const getCodePoint = (text: string, at: number): number => text.codePointAt(at) ?? -1;

/** Returns the length of the common prefix of a sorted group: that of its first and last text. */
function findCommonEnd(sorted: readonly string[], from: number): number {
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  let end = from;
  while (end < first.length && getCodePoint(first, end) === getCodePoint(last, end)) {
    end += getCodePoint(first, end) > 0xffff ? 2 : 1;
  }
  return end;
}
