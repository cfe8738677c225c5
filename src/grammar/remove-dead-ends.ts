import { type RuleAlternative, type RuleBody, type RuleEntry, findRuleUsers } from './rule-body.ts';

/** Removes alternatives that can never be completed. Returns undefined for a rule that has no other alternatives. */
export function removeDeadEnds(entries: readonly RuleEntry[]): (RuleBody | undefined)[] {
  const usersByRule = findRuleUsers(entries.map(({ body }) => body));
  const isLive = entries.map(({ gbnfRules }) => gbnfRules !== undefined);
  const canFinish = (alternative: RuleAlternative): boolean =>
    alternative.every((atom) => typeof atom === 'string' || isLive[atom.rule] === true);
  const queue = entries.map((_, rule) => rule);
  for (let rule = queue.pop(); rule !== undefined; rule = queue.pop()) {
    const isFinished = isLive[rule] === true && entries[rule]?.gbnfRules === undefined;
    if (isFinished || (!isLive[rule] && !entries[rule]?.body.alternatives.some(canFinish))) continue;
    isLive[rule] = true;
    for (const user of usersByRule[rule] ?? []) if (!isLive[user]) queue.push(user);
  }
  return entries.map(({ body }, rule) => {
    if (!isLive[rule]) return undefined;
    const kept = body.alternatives
      .map((alternative, at) => ({ alternative, at }))
      .filter((each) => canFinish(each.alternative));
    const newIndexes = new Map(kept.map(({ at }, newIndex) => [at, newIndex]));
    const overlaps = body.overlaps?.map((group) => group.flatMap((at) => newIndexes.get(at) ?? []));
    return { alternatives: kept.map(({ alternative }) => alternative), ...(overlaps && { overlaps }) };
  });
}
