import { POOL_AFFINITY_LEAD_MAX, POOL_AFFINITY_LEAD_SHARE_MAX } from '../../core/limits.ts';
import { preference } from './affinity.ts';
import type { Member } from './member.ts';

type Candidate = Pick<Member, 'outstanding' | 'seed'>;

/**
 * The one that the affinity prefers, unless it is clearly busier than the least busy; else one of the least busy.
 * @param affinity Undefined for what no cache helps.
 * @param random From 0 up to 1.
 */
export function chooseMember<C extends Candidate>(
  candidates: readonly C[],
  affinity: number | undefined,
  random: () => number,
): C | undefined {
  const [first, ...others] = candidates;
  if (first === undefined || others.length === 0) return first;
  const least = Math.min(...candidates.map(({ outstanding }) => outstanding));
  if (affinity !== undefined) {
    const liking = (candidate: C): number => preference(affinity, candidate.seed);
    const preferred = others.reduce((best, other) => (liking(other) > liking(best) ? other : best), first);
    const leadMax = Math.max(POOL_AFFINITY_LEAD_MAX, least * POOL_AFFINITY_LEAD_SHARE_MAX);
    if (preferred.outstanding - least <= leadMax) return preferred;
  }
  const idlest = candidates.filter(({ outstanding }) => outstanding === least);
  return idlest[Math.floor(random() * idlest.length)];
}
