import { LIVE_EXPECTED_MS } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { fitsBeside, isBackground, isReserved, rankOf } from '../priority.ts';
import type { FairQueue } from '../fair-queue.ts';
import type { Job } from './job.ts';
import type { Slots } from './slots.ts';

/** A job that gets its sequences now, and those that have to give theirs up for it. */
export interface Admission {
  readonly job: Job;
  readonly setAside: readonly Job[];
}

/**
 * Reserved requests, strictly in turn; then live runs that were set aside for them; then live requests, strictly in turn; then
 * background runs that were set aside for any of these; then background requests.
 */
export interface AdmissionOrder {
  /** Undefined where nobody can or may get any now. To be asked in each tick: it remembers when live ones were there. */
  next(): Admission | undefined;
}

interface Needs {
  readonly queue: Pick<FairQueue<Job>, 'peek'>;
  /** Those that have been admitted. */
  readonly jobs: ReadonlySet<Job>;
  readonly slots: Pick<Slots, 'free' | 'all'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

export function createAdmissionOrder({ queue, jobs, slots, clock }: Needs): AdmissionOrder {
  const total = slots.all.length;
  let liveAt = -Infinity;

  /** At the cost of those that it goes before. */
  const before = (job: Job): Admission | undefined => {
    const missing = job.call.choices - slots.free;
    if (missing <= 0) return { job, setAside: [] };
    const rank = rankOf(job.call.owner);
    const movable = [...jobs].filter((other) => rankOf(other.call.owner) > rank && isMovable(other));
    const taken = movable.filter((other) => other.slots.length > 0);
    // All of them or none: what is set aside has to be evaluated again.
    if (taken.length < missing) return undefined;
    return { job, setAside: taken.toSorted(lastFirst).slice(0, missing) };
  };

  const fits = (job: Job): boolean => {
    if (!isMovable(job))
      return fitsBeside(job.call.owner, { wanted: job.call.choices, taken: total - slots.free, total });
    // It could be set aside for each live request that comes, but that has its price.
    const isLiveExpected = clock.monotonic() - liveAt < LIVE_EXPECTED_MS;
    const most = isLiveExpected ? Math.max(1, total - 1) : total;
    return slots.free > 0 && heldInBackground() < most;
  };

  const heldInBackground = (): number => [...jobs].reduce((sum, job) => sum + (isLive(job) ? 0 : job.slots.length), 0);

  return {
    next() {
      if ([...jobs].some(isLive)) liveAt = clock.monotonic();
      const first = queue.peek();
      if (first && isReserved(first.call.owner)) return before(first);
      const aside = [...jobs].filter(isWaitingAside);
      const live = aside.find(isLive) ?? (first && isLive(first) ? first : undefined);
      if (live) return before(live);
      const job = aside[0] ?? first;
      return job && fits(job) ? { job, setAside: [] } : undefined;
    },
  };
}

const isLive = ({ call }: Job): boolean => !isBackground(call.owner);

/**
 * What can go on elsewhere, by evaluating its tokens again. A seeded run cannot: its slices would be others. One that keeps
 * beginnings of its prompt, or has several answers, is not worth the trouble.
 */
const isMovable = (job: Job): boolean => job.call.choices === 1 && !job.isSeeded && !job.cacheWish && !job.isCancelled;

const isWaitingAside = (job: Job): boolean => job.isSetAside && !job.isPaused && !job.isCancelled;

/** Background runs first, and those that have the least to lose. */
const lastFirst = (one: Job, other: Job): number =>
  rankOf(other.call.owner) - rankOf(one.call.owner) || cellsOf(one) - cellsOf(other);

const cellsOf = ({ slots }: Job): number => slots.reduce((sum, { tokens }) => sum + tokens.length, 0);
