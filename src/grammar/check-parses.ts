import { GRAMMAR_PARSES_MAX } from '../core/limits.ts';
import { type Alternative, type RuleBody, usersOf } from './rule-body.ts';
import { RuleBookError } from './rule-book-error.ts';

/**
 * An upper bound of the parses that an engine has to follow at once: overlapping alternatives add up, all else takes its
 * largest part. A recursive rule that overlaps with itself has no bound and grows until it is refused.
 */
export function checkParses(bodies: readonly (RuleBody | undefined)[]): void {
  const users = usersOf(bodies);
  const parses = bodies.map(() => 1);
  const ofAlternative = (alternative: Alternative): number =>
    alternative.reduce((most, atom) => (typeof atom === 'string' ? most : Math.max(most, parses[atom.rule] ?? 1)), 1);
  // The last first: a rule mostly refers to earlier ones, so one pass does nearly all.
  const waiting = bodies.map((_, rule) => bodies.length - 1 - rule);
  const isWaiting = bodies.map(() => true);
  for (let rule = waiting.pop(); rule !== undefined; rule = waiting.pop()) {
    isWaiting[rule] = false;
    const body = bodies[rule];
    if (!body) continue;
    const each = body.alternatives.map(ofAlternative);
    let most = Math.max(1, each.length, ...each);
    for (const group of body.overlaps ?? []) {
      most = Math.max(
        most,
        group.reduce((sum, at) => sum + (each[at] ?? 0), 0),
      );
    }
    if (most > GRAMMAR_PARSES_MAX)
      throw new RuleBookError(
        `alternatives that cannot be told apart, in more than ${GRAMMAR_PARSES_MAX} combinations`,
      );
    if (most === parses[rule]) continue;
    parses[rule] = most;
    for (const user of users[rule] ?? []) {
      if (isWaiting[user]) continue;
      isWaiting[user] = true;
      waiting.push(user);
    }
  }
}
