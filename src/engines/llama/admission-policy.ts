import { LIVE_SEQUENCE_RESERVE_MS } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import {
  canTakeSequence,
  createClaimComparison,
  createActiveWorkspaces,
  findYielding,
  type BusySequence,
  type SequenceClaim,
} from '../fair-share.ts';
import { SHARE_RESERVE_MS } from '../limits.ts';
import type { EngineOwner } from '../engine.ts';
import { getPriorityRank, isBackground, isLive, isReserved } from '../priority.ts';
import type { FairQueue } from '../fair-queue.ts';
import type { GenerationJob, JobChoice, RunningChoice } from './job.ts';
import { canEvaluateAgain, hasSlot } from './job.ts';
import type { SlotPool } from './slot-pool.ts';

/**
 * The choice of an admitted job, or the job of the queue, that gets a sequence now. `interrupted` is the choice that must
 * give up its sequence for it.
 */
export interface SequenceAdmission {
  readonly next: JobChoice | GenerationJob;
  readonly interrupted?: RunningChoice;
  /** The choice that is interrupted has a lower priority. */
  readonly isOutranked?: boolean;
}

/**
 * Decides what gets a sequence next, one sequence at a time. The order is: reserved requests; live ones; background ones.
 * In each class, choices without a sequence of the workspaces and keys that hold the fewest come first, and among those
 * the choices of admitted jobs before waiting jobs.
 *
 * If no sequence is free, a running choice gives up its own: one of lower priority, or one of a workspace or key that
 * holds more sequences (`findYielding`).
 */
export interface AdmissionPolicy {
  /** Returns undefined if nothing can get a sequence now. Call it in each tick: it records who is active. */
  next(): SequenceAdmission | undefined;
  /** Whether something waits that may get the sequence of another run later. */
  isAnyWaiting(): boolean;
}

interface AdmissionPolicyDeps {
  readonly queue: Pick<FairQueue<GenerationJob>, 'peekEach'>;
  /** Jobs that have been admitted. */
  readonly jobs: ReadonlySet<GenerationJob>;
  readonly slots: Pick<SlotPool, 'freeCount' | 'all'>;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Share of the sequences that a workspace keeps while others wait. */
  readonly workspaceShare: number;
}

/** A claim to a sequence. */
interface Claim extends SequenceClaim {
  readonly next: JobChoice | GenerationJob;
}

interface Holder extends BusySequence {
  readonly choice: RunningChoice;
}

export function createAdmissionPolicy({
  queue,
  jobs,
  slots,
  clock,
  workspaceShare,
}: AdmissionPolicyDeps): AdmissionPolicy {
  const total = slots.all.length;
  const active = createActiveWorkspaces(SHARE_RESERVE_MS);
  let lastLiveAt = -Infinity;

  /** Whether the owner may have one of the free sequences. One is kept for live requests where they are expected. */
  const hasFree = (owner: EngineOwner, holders: readonly Holder[], now: number): boolean => {
    if (slots.freeCount === 0 || !isBackground(owner)) return slots.freeCount > 0;
    const keptCount = total > 1 && now - lastLiveAt < LIVE_SEQUENCE_RESERVE_MS ? 1 : 0;
    return holders.filter((holder) => isBackground(holder.owner)).length < total - keptCount;
  };

  /** Returns all claims: those of admitted jobs, which have started, come first. */
  const listClaims = (holders: readonly Holder[], now: number): readonly Claim[] => [
    ...[...jobs].flatMap((job) =>
      job.choices
        .filter((choice) => isWaiting(choice) && (hasFree(job.call.owner, holders, now) || !waitsForPrompt(choice)))
        .map((next): Claim => ({ owner: job.call.owner, next, waitingSince: next.slotChangedAt })),
    ),
    ...queue.peekEach().map((next): Claim => ({ owner: next.call.owner, next })),
  ];

  const listHolders = (): readonly Holder[] =>
    [...jobs].flatMap((job) =>
      job.choices.filter(isRunning).map((choice) => ({
        owner: job.call.owner,
        since: waitsForPrompt(choice) ? -Infinity : choice.slotChangedAt,
        choice,
      })),
    );

  /** Admits a claim, and interrupts a run of lower priority, or of a workspace with more sequences, if none is free. */
  const admit = (claim: Claim, holders: readonly Holder[], now: number): SequenceAdmission | undefined => {
    const { owner, next } = claim;
    if (hasFree(owner, holders, now)) return { next };
    const rank = getPriorityRank(owner);
    const lower = holders.filter((other) => getPriorityRank(other.owner) > rank).toSorted(compareInterruptionOrder);
    const equal = holders.filter((other) => getPriorityRank(other.owner) === rank).toSorted(compareInterruptionOrder);
    const yielding = findYielding(claim, equal, { total, workspaceShare, now });
    const canInterrupt = ({ choice: { job, keepsSlotUntil } }: Holder): boolean =>
      !job.isCancelled && keepsSlotUntil <= now;
    // Work of lower priority does not keep its sequence because moving it takes long.
    const interrupted =
      lower.find((each) => canInterrupt(each) || canEvaluateAgain(each.choice.job)) ?? yielding.find(canInterrupt);
    return interrupted && { next, interrupted: interrupted.choice, isOutranked: lower.includes(interrupted) };
  };

  /** Returns the live claim that is served next. */
  const findLive = (claims: readonly Claim[], holders: readonly Holder[], now: number): Claim | undefined => {
    const busy = holders.filter(({ owner }) => isLive(owner));
    const options = { total, workspaceShare, now, active };
    return findFirst(
      claims.filter(({ owner }) => canTakeSequence(owner, busy, options)),
      busy,
    );
  };

  const findBackground = (claims: readonly Claim[], holders: readonly Holder[]): Claim | undefined =>
    findFirst(
      claims,
      holders.filter(({ owner }) => isBackground(owner)),
    );

  const findFirstOfClass = (claims: readonly Claim[], holders: readonly Holder[], now: number): Claim | undefined => {
    const reserved = claims.filter(({ owner }) => isReserved(owner));
    if (reserved.length > 0)
      return findFirst(
        reserved,
        holders.filter(({ owner }) => isReserved(owner)),
      );
    const live = claims.filter(({ owner }) => isLive(owner));
    return live.length > 0 ? findLive(live, holders, now) : findBackground(claims, holders);
  };

  return {
    next() {
      const now = clock.monotonic();
      const holders = listHolders();
      if (holders.some(({ owner }) => !isBackground(owner))) lastLiveAt = now;
      const claims = listClaims(holders, now);
      for (const { owner } of [...holders, ...claims]) if (isLive(owner)) active.record(owner.workspace, now);
      if (claims.length === 0) return undefined;
      const first = findFirstOfClass(claims, holders, now);
      return first && admit(first, holders, now);
    },
    isAnyWaiting: () => listClaims(listHolders(), clock.monotonic()).length > 0,
  };
}

/** Returns the claim of the workspace and the key that have the fewest of these sequences. */
function findFirst(claims: readonly Claim[], busy: readonly Holder[]): Claim | undefined {
  const byClaim = createClaimComparison(busy);
  return claims.toSorted((one, other) => byClaim(one.owner, other.owner))[0];
}

const isRunning = (choice: JobChoice): choice is RunningChoice => !choice.isFinished && hasSlot(choice);

/** Whether a choice of an admitted job needs a sequence. */
const isWaiting = (choice: JobChoice): boolean =>
  !choice.isFinished && !hasSlot(choice) && !choice.job.isPaused && !choice.job.isCancelled;

/**
 * Whether a choice has nothing to do until the first choice has evaluated the prompt. It takes no sequence from others, and
 * gives up its own first.
 */
const waitsForPrompt = ({ job, index }: JobChoice): boolean => index > 0 && !job.isPromptEvaluated;

/** Sorts by how soon choices are interrupted: lowest priority first, then the fewest evaluated tokens, then the last. */
const compareInterruptionOrder = (one: Holder, other: Holder): number =>
  getPriorityRank(other.owner) - getPriorityRank(one.owner) ||
  one.choice.slot.tokens.length - other.choice.slot.tokens.length ||
  other.choice.index - one.choice.index;
