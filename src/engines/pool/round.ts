import { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS_MAX } from '../../core/limits.ts';
import { abortReason } from '../abort-reason.ts';
import { chooseMember } from './choose-member.ts';
import type { Member, Work } from './member.ts';

/** The members that one request is put to, one after the other and each once. */
export interface Round {
  /**
   * Work on the next member.
   * @throws ServiceError Why the last one failed where none is left; `overloaded` where none was there at all; the
   * signal's reason.
   */
  next(): Work;
  /** Ends the work. Returns where another member may be asked. @throws ServiceError what failed, elsewhere too. */
  failed(work: Work, thrown: unknown): void;
  /** All of it: `attempt` with one member after the other, until one succeeds. Only for what may be asked twice. */
  ask<T>(attempt: Attempt<T>): Promise<T>;
}

interface Attempt<T> {
  readonly call: (work: Work) => Promise<T>;
  /** A call whose success says little of whether the model runs. */
  readonly isLight?: true;
}

export interface RoundNeeds {
  readonly members: readonly Member[];
  readonly attemptsMax: number;
  readonly random: () => number;
}

export interface RoundOptions {
  readonly signal?: AbortSignal;
  readonly affinity?: () => number;
}

export function createRound(
  { members, attemptsMax, random }: RoundNeeds,
  { signal, affinity }: RoundOptions = {},
): Round {
  const asked = new Set<Member>();
  let last: ServiceError | undefined;

  const choose = (): Member | undefined => {
    if (asked.size >= attemptsMax) return undefined;
    const free = members.filter((member) => !asked.has(member) && member.breaker.waitMs() === 0);
    const onTrial = free.filter(({ breaker }) => breaker.state === 'open');
    // What cannot be probed comes back by a request only. It is put there first: a failure can still be made good.
    const untested = asked.size === 0 ? onTrial.find(({ engine }) => !engine.probe) : undefined;
    if (untested) return untested;
    const inUse = free.filter(({ breaker }) => breaker.state === 'closed');
    const candidates = inUse.length > 0 ? inUse : onTrial;
    return chooseMember(candidates, candidates.length > 1 ? affinity?.() : undefined, random);
  };

  const next = (): Work => {
    if (signal?.aborted) throw abortReason(signal);
    const member = choose();
    if (!member) throw last ?? allDown(members);
    asked.add(member);
    return member.begin();
  };

  const failed = (work: Work, thrown: unknown): void => {
    if (signal?.aborted) {
      work.left();
      throw abortReason(signal);
    }
    last = ServiceError.from(thrown);
    if (!work.failed(last)) throw thrown;
  };

  return {
    next,
    failed,
    async ask({ call, isLight = false }) {
      for (;;) {
        const work = next();
        try {
          const answer = await call(work);
          work.spoke();
          if (isLight) work.left();
          else work.succeeded();
          return answer;
        } catch (thrown) {
          // A server that could not be asked what it is does not know that it can.
          if (thrown instanceof ServiceError && thrown.kind === 'unsupported') {
            work.left();
            last = thrown;
          } else failed(work, thrown);
        }
      }
    },
  };
}

/** What a request hears that no member may be asked for now. The log is told what keeps off the one that is back first. */
export function allDown(members: readonly Member[]): ServiceError {
  const [soonest] = members
    .map(({ breaker }) => ({ waitMs: breaker.waitMs(), why: breaker.why }))
    .toSorted((one, other) => one.waitMs - other.waitMs);
  const seconds = Math.ceil((soonest?.waitMs ?? 0) / 1000);
  return new ServiceError('overloaded', 'No upstream of this model is available at present, please try again later.', {
    retryAfterSeconds: Math.min(Math.max(1, seconds), RETRY_AFTER_SECONDS_MAX),
    cause: soonest?.why,
  });
}
