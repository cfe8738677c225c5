import { literal } from './gbnf.ts';
import type { Alternative } from './rule-body.ts';
import type { RuleBook } from './rule-book.ts';

/**
 * One of these texts. Common beginnings stand once, so that an engine follows one parse, and so do common ends, because
 * equal rules are one.
 */
export function textChoice(texts: readonly string[], book: RuleBook): readonly Alternative[] {
  const sorted = [...new Set(texts)].toSorted();
  return choiceFrom(sorted, 0, 0);

  function choiceFrom(group: readonly string[], from: number, depth: number): readonly Alternative[] {
    if (group.length === 1 || depth === DEPTH_MAX) return group.map((text) => [literal(text.slice(from))]);
    const byFirst = Map.groupBy(group, (text) => characterAt(text, from));
    return [...byFirst.values()].map((branch): Alternative => {
      const end = commonEnd(branch, from);
      const beginning = literal((branch[0] ?? '').slice(from, end));
      return branch.length === 1
        ? [beginning]
        : [beginning, book.add({ alternatives: choiceFrom(branch, end, depth + 1) })];
    });
  }
}

/** Ours: texts of which each begins with the one before. Keeps the recursion off the stack's end. */
const DEPTH_MAX = 200;

const characterAt = (text: string, at: number): number => text.codePointAt(at) ?? -1;

/** How far all of a sorted group are equal: as far as its first and last are. */
function commonEnd(sorted: readonly string[], from: number): number {
  const [first = '', last = ''] = [sorted[0], sorted.at(-1)];
  let end = from;
  while (end < first.length && characterAt(first, end) === characterAt(last, end)) {
    end += characterAt(first, end) > 0xffff ? 2 : 1;
  }
  return end;
}
