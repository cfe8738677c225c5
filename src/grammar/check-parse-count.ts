import { GRAMMAR_PARSES_MAX } from './limits.ts';
import { type RuleAlternative, type RuleBody, findRuleUsers } from './rule-body.ts';
import { GrammarBuilderError } from './grammar-builder-error.ts';

/**
 * Computes an upper bound of the parses that an engine follows at the same time: overlapping alternatives add up,
 * otherwise the largest part counts. A recursive rule that overlaps with itself has no bound and is rejected.
 * @throws GrammarBuilderError above GRAMMAR_PARSES_MAX.
 */
export function checkParseCount(bodies: readonly (RuleBody | undefined)[]): void {
  const usersByRule = findRuleUsers(bodies);
  const parses = bodies.map(() => 1);
  const countParses = (alternative: RuleAlternative): number =>
    alternative.reduce(
      (parseCount, atom) => (typeof atom === 'string' ? parseCount : Math.max(parseCount, parses[atom.rule] ?? 1)),
      1,
    );
  // Starts with the first rule: rules mostly refer to earlier ones, so that one pass does nearly all the work.
  const queue = bodies.map((_, rule) => bodies.length - 1 - rule);
  const isQueued = bodies.map(() => true);
  for (let rule = queue.pop(); rule !== undefined; rule = queue.pop()) {
    isQueued[rule] = false;
    const body = bodies[rule];
    if (!body) continue;
    const parseCounts = body.alternatives.map(countParses);
    let parseCount = Math.max(1, parseCounts.length, ...parseCounts);
    for (const group of body.overlaps ?? []) {
      parseCount = Math.max(
        parseCount,
        group.reduce((sum, at) => sum + (parseCounts[at] ?? 0), 0),
      );
    }
    if (parseCount > GRAMMAR_PARSES_MAX)
      throw new GrammarBuilderError(`ambiguous alternatives with more than ${GRAMMAR_PARSES_MAX} combinations`);
    if (parseCount === parses[rule]) continue;
    parses[rule] = parseCount;
    for (const user of usersByRule[rule] ?? []) {
      if (isQueued[user]) continue;
      isQueued[user] = true;
      queue.push(user);
    }
  }
}
