import { type Alternative, type RuleBody, type RuleEntry, usersOf } from './rule-body.ts';

/** Bodies without the alternatives that can never be finished; undefined for a rule that has no other. */
export function withoutDeadEnds(entries: readonly RuleEntry[]): (RuleBody | undefined)[] {
  const users = usersOf(entries.map(({ body }) => body));
  const isLive = entries.map(({ written }) => written !== undefined);
  const goesThrough = (alternative: Alternative): boolean =>
    alternative.every((atom) => typeof atom === 'string' || isLive[atom.rule] === true);
  const waiting = entries.map((_, rule) => rule);
  for (let rule = waiting.pop(); rule !== undefined; rule = waiting.pop()) {
    const isFinished = isLive[rule] === true && entries[rule]?.written === undefined;
    if (isFinished || (!isLive[rule] && !entries[rule]?.body.alternatives.some(goesThrough))) continue;
    isLive[rule] = true;
    for (const user of users[rule] ?? []) if (!isLive[user]) waiting.push(user);
  }
  return entries.map(({ body }, rule) => {
    if (!isLive[rule]) return undefined;
    const kept = body.alternatives
      .map((alternative, at) => ({ alternative, at }))
      .filter((each) => goesThrough(each.alternative));
    const places = new Map(kept.map(({ at }, place) => [at, place]));
    const overlaps = body.overlaps?.map((group) => group.flatMap((at) => places.get(at) ?? []));
    return { alternatives: kept.map(({ alternative }) => alternative), ...(overlaps && { overlaps }) };
  });
}
