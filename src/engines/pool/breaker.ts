import type { ServiceError } from '../../core/error.ts';
import {
  POOL_FAILURES_IN_ROW_MAX,
  POOL_FAILURES_KEPT_MAX,
  POOL_OUTCOMES_KEPT,
  POOL_REST_MS,
} from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';

/** Leave to use the address once. Exactly one of the last four is called, at the end. */
export interface Pass {
  /** It has answered something: what is on trial is trusted again, until its next failure. */
  spoke(): void;
  succeeded(): void;
  failed(error: ServiceError): void;
  /** It is well, but has no room for `ms`. */
  busy(error: ServiceError, ms: number): void;
  /** Nothing was learned of it. */
  left(): void;
}

/**
 * Decides from outcomes whether an address is used: `closed` it is, `open` it is left alone, `trial` one use is to show
 * whether it is well again. Outcomes of uses that began before the state changed are not heard.
 */
export interface Breaker {
  readonly state: 'closed' | 'open' | 'trial';
  /** In use, but its last outcome was a failure, or only a probe has spoken for it. */
  readonly isSuspect: boolean;
  /** Ms until `enter` may be called; 0: now. */
  waitMs(): number;
  /** What was last held against it. */
  readonly why: ServiceError | undefined;
  /** Only where `waitMs` says 0. What is open goes on trial with it. */
  enter(): Pass;
}

export interface BreakerTimes {
  /** Ms that an address is left alone at first and at most. */
  readonly backoffMsMin: number;
  readonly backoffMsMax: number;
}

export interface BreakerNeeds {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** From 0 up to 1. */
  readonly random: () => number;
  readonly times: BreakerTimes;
  /** Hears when it goes out of use, with the last failure, and when it comes back; not of trials that failed. */
  readonly onOpen: (error: ServiceError, backoffMs: number) => void;
  readonly onClose: () => void;
}

export function createBreaker({ clock, random, times, onOpen, onClose }: BreakerNeeds): Breaker {
  let state: Breaker['state'] = 'closed';
  /** Counts changes of state: a pass of an earlier one has no say. */
  let era = 0;
  /** Open: when a trial may begin. Closed: until when it rests. */
  let notBefore = 0;
  let failuresInRow = 0;
  let outcomes: boolean[] = [];
  let backoffs = 0;
  let isOnProbation = false;
  let why: ServiceError | undefined;

  const become = (next: Breaker['state'], from: number): void => {
    state = next;
    notBefore = from;
    era++;
  };

  /** Half of it at random: addresses and gateways that fell together must not come back together. */
  const nextBackoffMs = (): number => {
    const full = Math.min(times.backoffMsMax, times.backoffMsMin * 2 ** backoffs);
    backoffs++;
    return full * (0.5 + random() / 2);
  };

  const open = (error: ServiceError): void => {
    const wasInUse = state === 'closed';
    const backoffMs = nextBackoffMs();
    become('open', clock.monotonic() + backoffMs);
    failuresInRow = 0;
    outcomes = [];
    isOnProbation = false;
    if (wasInUse) onOpen(error, backoffMs);
  };

  const close = (): void => {
    become('closed', 0);
    isOnProbation = true;
    onClose();
  };

  const remember = (isGood: boolean): void => {
    outcomes.push(isGood);
    if (outcomes.length > POOL_OUTCOMES_KEPT) outcomes.shift();
  };

  const hasFailedTooOften = (): boolean =>
    failuresInRow >= POOL_FAILURES_IN_ROW_MAX || outcomes.filter((isGood) => !isGood).length >= POOL_FAILURES_KEPT_MAX;

  return {
    get state() {
      return state;
    },
    get isSuspect() {
      return state === 'closed' && (failuresInRow > 0 || isOnProbation);
    },
    get why() {
      return why;
    },
    // How a trial ends is known soon, but not when.
    waitMs: () => (state === 'trial' ? POOL_REST_MS : Math.max(0, notBefore - clock.monotonic())),
    enter() {
      if (state === 'open') become('trial', 0);
      let mine = era;
      const spoke = (): void => {
        if (mine !== era || state !== 'trial') return;
        close();
        mine = era;
      };
      return {
        spoke,
        succeeded() {
          spoke();
          if (mine !== era) return;
          failuresInRow = 0;
          backoffs = 0;
          isOnProbation = false;
          remember(true);
        },
        failed(error) {
          if (mine !== era) return;
          why = error;
          failuresInRow++;
          remember(false);
          if (state === 'trial' || isOnProbation || hasFailedTooOften()) open(error);
        },
        busy(error, ms) {
          if (mine !== era) return;
          why = error;
          const until = clock.monotonic() + ms;
          if (state === 'trial') become('open', until);
          else notBefore = Math.max(notBefore, until);
        },
        left() {
          if (mine === era && state === 'trial') become('open', 0);
        },
      };
    },
  };
}
