import { LIVE_SEQUENCE_RESERVE_MS } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { canAdmit, isBackground, isReserved, getPriorityRank } from '../priority.ts';
import type { FairQueue } from '../fair-queue.ts';
import type { GenerationJob } from './job.ts';
import type { SlotPool } from './slot-pool.ts';

/** A job that gets its sequences now, and the jobs that must release theirs for it. */
export interface JobAdmission {
  readonly job: GenerationJob;
  readonly preempted: readonly GenerationJob[];
}

/**
 * Decides which job gets sequences next. The order is: reserved requests; live runs that were preempted for them; live
 * requests; preempted background runs; background requests. Each class is served strictly in turn.
 */
export interface AdmissionPolicy {
  /** Returns undefined if no job can be admitted now. Call it in each tick: it records when live jobs were present. */
  next(): JobAdmission | undefined;
}

interface AdmissionPolicyDeps {
  readonly queue: Pick<FairQueue<GenerationJob>, 'peek'>;
  /** Jobs that have been admitted. */
  readonly jobs: ReadonlySet<GenerationJob>;
  readonly slots: Pick<SlotPool, 'freeCount' | 'all'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export function createAdmissionPolicy({ queue, jobs, slots, clock }: AdmissionPolicyDeps): AdmissionPolicy {
  const total = slots.all.length;
  let lastLiveAt = -Infinity;

  /** Admits the job, and preempts jobs of lower priority if sequences are missing. */
  const admitByPreemption = (job: GenerationJob): JobAdmission | undefined => {
    const missing = job.call.choices - slots.freeCount;
    if (missing <= 0) return { job, preempted: [] };
    const rank = getPriorityRank(job.call.owner);
    const preemptible = [...jobs].filter((other) => getPriorityRank(other.call.owner) > rank && isPreemptible(other));
    const holders = preemptible.filter((other) => other.slots.length > 0);
    // Preempt only if that frees enough sequences: the tokens of a preempted job must be evaluated again.
    if (holders.length < missing) return undefined;
    return { job, preempted: holders.toSorted(comparePreemptionOrder).slice(0, missing) };
  };

  const canAdmitBackground = (job: GenerationJob): boolean => {
    if (!isPreemptible(job))
      return canAdmit(job.call.owner, { requested: job.call.choices, taken: total - slots.freeCount, total });
    // This job could be preempted for each live request that arrives, but every preemption costs time.
    const isLiveExpected = clock.monotonic() - lastLiveAt < LIVE_SEQUENCE_RESERVE_MS;
    const sequencesMax = isLiveExpected ? Math.max(1, total - 1) : total;
    return slots.freeCount > 0 && countBackgroundSequences() < sequencesMax;
  };

  const countBackgroundSequences = (): number =>
    [...jobs].reduce((sum, job) => sum + (isLive(job) ? 0 : job.slots.length), 0);

  return {
    next() {
      if ([...jobs].some(isLive)) lastLiveAt = clock.monotonic();
      const head = queue.peek();
      if (head && isReserved(head.call.owner)) return admitByPreemption(head);
      const waitingPreempted = [...jobs].filter(isWaitingToResume);
      const live = waitingPreempted.find(isLive) ?? (head && isLive(head) ? head : undefined);
      if (live) return admitByPreemption(live);
      const job = waitingPreempted[0] ?? head;
      return job && canAdmitBackground(job) ? { job, preempted: [] } : undefined;
    },
  };
}

const isLive = ({ call }: GenerationJob): boolean => !isBackground(call.owner);

/**
 * Whether a job can be preempted and resumed by evaluating its tokens again. Seeded jobs cannot, because their slices
 * would differ. Jobs that report their prompt cannot, because they would report it again. Jobs with explicit caching or
 * several choices are excluded, because preempting them costs too much.
 */
const isPreemptible = (job: GenerationJob): boolean =>
  job.call.choices === 1 && !job.isSeeded && !job.call.promptLogprobs && !job.cacheRequest && !job.isCancelled;

const isWaitingToResume = (job: GenerationJob): boolean => job.isPreempted && !job.isPaused && !job.isCancelled;

/** Sorts jobs by how soon they are preempted: lowest priority first, then the fewest evaluated tokens. */
const comparePreemptionOrder = (one: GenerationJob, other: GenerationJob): number =>
  getPriorityRank(other.call.owner) - getPriorityRank(one.call.owner) || countCells(one) - countCells(other);

const countCells = ({ slots }: GenerationJob): number => slots.reduce((sum, { tokens }) => sum + tokens.length, 0);
