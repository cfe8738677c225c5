import { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS_MAX } from '../../core/limits.ts';
import { getAbortError } from '../get-abort-error.ts';
import type { EngineOwner } from '../engine.ts';
import { chooseMember } from './choose-member.ts';
import { isAmbiguousFailure, type PoolMember, type MemberWork } from './pool-member.ts';

/**
 * Sends one request to one member after another, to each at most once. After an ambiguous failure at most one more member
 * is tried: a request that breaks servers must not visit all of them.
 */
export interface Failover {
  /**
   * Starts work at the next member.
   * @throws ServiceError the last failure when no member is left, `overloaded` when none was available, or the signal's
   * reason.
   */
  startNext(): MemberWork;
  /** Ends the work as failed. Returns if another member may be tried. @throws the failure if it would be the same elsewhere. */
  recordFailure(work: MemberWork, thrown: unknown): void;
  /** Runs `attempt` at one member after another until one succeeds. Only for calls that may be repeated. */
  run<T>(attempt: FailoverAttempt<T>): Promise<T>;
}

interface FailoverAttempt<T> {
  readonly call: (work: MemberWork) => Promise<T>;
  /** The success of this call says little about whether the model runs. */
  readonly isLightweight?: true;
}

export interface FailoverDeps {
  readonly members: readonly PoolMember[];
  readonly attemptsMax: number;
  readonly random: () => number;
}

export interface FailoverOptions {
  readonly signal?: AbortSignal;
  readonly owner?: EngineOwner;
  readonly affinity?: () => number;
}

export function createFailover(
  { members, attemptsMax, random }: FailoverDeps,
  { signal, owner, affinity }: FailoverOptions = {},
): Failover {
  const tried = new Set<PoolMember>();
  let lastError: ServiceError | undefined;
  let attemptsLeft = attemptsMax;

  /** Only for the first attempt of a request: a retry must not use up an attempt that another request could have. */
  const findLastResortMembers = (): readonly PoolMember[] =>
    tried.size === 0 && areAllOpen(members) ? members.filter(({ breaker }) => breaker.getLastResortWaitMs() === 0) : [];

  const chooseNext = (): PoolMember | undefined => {
    if (attemptsLeft === 0) return undefined;
    const idleMembers = members.filter((member) => !tried.has(member) && member.breaker.getWaitMs() === 0);
    const dueForTrial = idleMembers.filter(({ breaker }) => breaker.state === 'open');
    // Only a request can test a member without a probe. The request goes there first, while it can still be retried.
    const untested = tried.size === 0 ? dueForTrial.find(({ engine }) => !engine.probe) : undefined;
    if (untested) return untested;
    const inUse = idleMembers.filter(({ breaker }) => breaker.state === 'closed');
    const trusted = inUse.filter((member) => !member.isExcludedFor(owner));
    const candidates = [trusted, inUse, dueForTrial].find(({ length }) => length > 0) ?? findLastResortMembers();
    return chooseMember(candidates, candidates.length > 1 ? affinity?.() : undefined, random);
  };

  const startNext = (): MemberWork => {
    if (signal?.aborted) throw getAbortError(signal);
    const member = chooseNext();
    if (!member) throw lastError ?? createAllDownError(members);
    tried.add(member);
    attemptsLeft--;
    return member.startWork({ owner });
  };

  const recordFailure = (work: MemberWork, thrown: unknown): void => {
    if (signal?.aborted) {
      work.discard();
      throw getAbortError(signal);
    }
    lastError = ServiceError.from(thrown);
    if (isAmbiguousFailure(lastError)) attemptsLeft = Math.min(attemptsLeft, 1);
    if (!work.recordFailure(lastError)) throw thrown;
  };

  return {
    startNext,
    recordFailure,
    async run({ call, isLightweight = false }) {
      for (;;) {
        const work = startNext();
        try {
          const answer = await call(work);
          work.recordOutput();
          if (isLightweight) work.discard();
          else work.recordSuccess();
          return answer;
        } catch (thrown) {
          // A server whose metadata could not be read reports `unsupported` although it may support the call.
          if (thrown instanceof ServiceError && thrown.kind === 'unsupported') {
            work.discard();
            lastError = thrown;
          } else recordFailure(work, thrown);
        }
      }
    },
  };
}

/** Creates the error for a request when no member may be used. Its cause is that of the member available first. */
export function createAllDownError(members: readonly PoolMember[]): ServiceError {
  const isUrgent = areAllOpen(members);
  const [soonest] = members
    .map(({ breaker }) => ({
      waitMs: isUrgent ? breaker.getLastResortWaitMs() : breaker.getWaitMs(),
      why: breaker.lastError,
    }))
    .toSorted((one, other) => one.waitMs - other.waitMs);
  const seconds = Math.ceil((soonest?.waitMs ?? 0) / 1000);
  return new ServiceError('overloaded', 'No upstream of this model is available at present, please try again later.', {
    retryAfterSeconds: Math.min(Math.max(1, seconds), RETRY_AFTER_SECONDS_MAX),
    cause: soonest?.why,
  });
}

const areAllOpen = (members: readonly PoolMember[]): boolean =>
  members.every(({ breaker }) => breaker.state !== 'closed');
