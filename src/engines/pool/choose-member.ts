import { POOL_AFFINITY_LEAD_MAX, POOL_AFFINITY_LEAD_SHARE_MAX } from './limits.ts';
import { computeRendezvousWeight } from './affinity.ts';
import type { PoolMember } from './pool-member.ts';

type Candidate = Pick<PoolMember, 'outstanding' | 'seed'>;

/**
 * Chooses the member that the affinity prefers, unless it has clearly more outstanding requests than the least busy
 * member; else one of the least busy members at random.
 * @param affinity Undefined for requests that no prefix cache helps.
 * @param random Returns a number from 0 (included) to 1 (excluded).
 */
export function chooseMember<C extends Candidate>(
  candidates: readonly C[],
  affinity: number | undefined,
  random: () => number,
): C | undefined {
  const [first, ...others] = candidates;
  if (first === undefined || others.length === 0) return first;
  const leastOutstanding = Math.min(...candidates.map(({ outstanding }) => outstanding));
  if (affinity !== undefined) {
    const getWeight = (candidate: C): number => computeRendezvousWeight(affinity, candidate.seed);
    const preferred = others.reduce((best, other) => (getWeight(other) > getWeight(best) ? other : best), first);
    const leadMax = Math.max(POOL_AFFINITY_LEAD_MAX, leastOutstanding * POOL_AFFINITY_LEAD_SHARE_MAX);
    if (preferred.outstanding - leastOutstanding <= leadMax) return preferred;
  }
  const idlest = candidates.filter(({ outstanding }) => outstanding === leastOutstanding);
  return idlest[Math.floor(random() * idlest.length)];
}
