import type { ServiceError } from '../../core/error.ts';
import { POOL_REST_MS, RETRY_AFTER_SECONDS_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { isBackground } from '../priority.ts';
import type { EngineOwner, TextEngine } from '../engine.ts';
import { shownBy } from '../upstream-cause.ts';
import { seedOf } from './affinity.ts';
import type { Breaker } from './breaker.ts';
import { createDoubts } from './doubts.ts';

/** One address of a pool. */
export interface Member {
  /** For logs and people: no path, no query, no user. */
  readonly host: string;
  readonly engine: TextEngine;
  readonly breaker: Breaker;
  /** Its share in the choice by affinity. */
  readonly seed: number;
  /** Requests that it works on now. */
  readonly outstanding: number;
  /** Of these, callers' requests, by their priority. */
  readonly outstandingLive: number;
  readonly outstandingBackground: number;
  /** When work of it last ended, in ms of the monotonic clock. */
  readonly heardAt: number;
  /** This caller's requests fail there again and again, and it may be the requests. */
  isDoubtedBy(owner: EngineOwner | undefined): boolean;
  /** Only where the breaker lets it. */
  begin(of?: WorkOf): Work;
}

export interface WorkOf {
  /** Whose request it is, where that is known. */
  readonly owner?: EngineOwner | undefined;
  /** We ask it for ourselves: no failure is a request's fault. */
  readonly isProbe?: true;
}

/** Something asked of a member. Counts as outstanding until the first of the last three; later ones change nothing. */
export interface Work {
  readonly engine: TextEngine;
  /** Something came of it. */
  spoke(): void;
  succeeded(): void;
  /** Its caller has gone, or it was no measure of the member. */
  left(): void;
  /** @returns Whether it makes sense to ask another member. */
  failed(error: ServiceError): boolean;
}

export interface MemberNeeds {
  readonly address: string;
  readonly engine: TextEngine;
  readonly breaker: Breaker;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Hears that something came of it, and that it ended well. */
  readonly onToken?: () => void;
  /** Hears of each end of work. */
  readonly onOver?: () => void;
}

export function createMember(needs: MemberNeeds): Member {
  const { address, engine, breaker, clock, onToken = () => undefined, onOver = () => undefined } = needs;
  let outstanding = 0;
  let outstandingLive = 0;
  let outstandingBackground = 0;
  let heardAt = clock.monotonic();
  const doubts = createDoubts({ clock });

  return {
    host: hostOf(address),
    engine,
    breaker,
    seed: seedOf(address),
    get outstanding() {
      return outstanding;
    },
    get outstandingLive() {
      return outstandingLive;
    },
    get outstandingBackground() {
      return outstandingBackground;
    },
    get heardAt() {
      return heardAt;
    },
    isDoubtedBy: (owner) => doubts.hasFrom(callerOf(owner)),
    begin({ owner, isProbe = false } = {}) {
      const pass = breaker.enter();
      const caller = callerOf(owner);
      const isInBackground = owner !== undefined && isBackground(owner);
      const isLive = owner !== undefined && !isInBackground;
      let isOver = false;
      outstanding++;
      if (isLive) outstandingLive++;
      if (isInBackground) outstandingBackground++;
      const once = (tell: () => void): void => {
        if (isOver) return;
        isOver = true;
        outstanding--;
        if (isLive) outstandingLive--;
        if (isInBackground) outstandingBackground--;
        heardAt = clock.monotonic();
        tell();
        onOver();
      };
      return {
        engine,
        spoke() {
          if (isOver) return;
          onToken();
          pass.spoke();
        },
        succeeded: () =>
          once(() => {
            onToken();
            doubts.succeeded(caller);
            pass.succeeded();
          }),
        left: () => once(pass.left),
        failed(error) {
          const fault = faultOf(error);
          once(() => {
            if (fault === 'weak' && !isProbe) {
              doubts.failed(caller);
              pass.failedWeakly(error, caller);
            } else if (fault === 'busy') {
              // A live request would have to wait for what was too much of background work.
              if (isInBackground) pass.left();
              else pass.busy(error, restMs(error));
            } else if (fault) pass.failed(error);
            else pass.left();
          });
          return fault !== undefined;
        },
      };
    },
  };
}

/** Whether a failure may be the request's fault: its server works, as far as can be seen. */
export const isWeak = (error: ServiceError): boolean => shownBy(error) === 'answered';

/** What nobody in particular has asked for counts as one caller's. */
const callerOf = (owner: EngineOwner | undefined): string => (owner ? `${owner.workspace}\n${owner.key}` : '');

/** Whether a failure is the member's; anything else is its caller's, and would be the same elsewhere. */
function faultOf(error: ServiceError): 'weak' | 'broken' | 'busy' | undefined {
  switch (error.kind) {
    case 'upstream-failed':
      return isWeak(error) ? 'weak' : 'broken';
    case 'engine-failed':
    case 'timeout':
      return 'broken';
    case 'overloaded':
      return 'busy';
    default:
      return undefined;
  }
}

const restMs = ({ retryAfterSeconds }: ServiceError): number =>
  retryAfterSeconds === undefined ? POOL_REST_MS : Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX) * 1000;

/** An address that is no URL is a name of ours. */
const hostOf = (address: string): string => (URL.canParse(address) && new URL(address).host) || address;
