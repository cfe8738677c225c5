import type { ServiceError } from '../../core/error.ts';
import {
  POOL_FAILURES_IN_ROW_MAX,
  POOL_FAILURES_KEPT_MAX,
  POOL_OUTCOMES_KEPT,
  POOL_REST_MS,
  POOL_URGENT_MS,
  POOL_WEAK_WEIGHT,
} from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';

/** Leave to use the address once. Exactly one of the last five is called, at the end. */
export interface Pass {
  /** It has answered something: what is on trial is trusted again, until its next failure. */
  spoke(): void;
  succeeded(): void;
  failed(error: ServiceError): void;
  /** It answered in good form that it failed, which may be the request's fault. */
  failedWeakly(error: ServiceError, caller: string): void;
  /** It is well, but has no room for `ms`. */
  busy(error: ServiceError, ms: number): void;
  /** Nothing was learned of it. */
  left(): void;
}

/**
 * Decides from outcomes whether an address is used: `closed` it is, `open` it is left alone, `trial` one use is to show
 * whether it is well again. Outcomes of uses that began before the state changed are not heard.
 *
 * Weak failures weigh half, and a caller counts once for them: since the last success in the count of failures in a row,
 * and once in what is remembered. So no burst of one caller's odd prompts opens it, however many conversations they
 * stand in, for those cost a caller nothing. A trial that fails weakly is no more than a trial without a result.
 */
export interface Breaker {
  readonly state: 'closed' | 'open' | 'trial';
  /** In use, but its last outcome was a failure, or only a probe has spoken for it. */
  readonly isSuspect: boolean;
  /** Ms until `enter` may be called; 0: now. */
  waitMs(): number;
  /** The same for where no other address is in use: a backoff or a trial that runs keeps off only for moments. */
  urgentMs(): number;
  /** What was last held against it. */
  readonly why: ServiceError | undefined;
  /** Only where `waitMs`, or in need `urgentMs`, says 0. What is open goes on trial with it. */
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

/** A caller's name is a weak failure. */
type Outcome = 'good' | 'failed' | { readonly caller: string };

export function createBreaker({ clock, random, times, onOpen, onClose }: BreakerNeeds): Breaker {
  let state: Breaker['state'] = 'closed';
  /** Counts changes of state: a pass of an earlier one has no say. */
  let era = 0;
  /** Counts how often it went out of use. */
  let fall = 0;
  /** Open: when a trial may begin. Closed: until when it rests. */
  let notBefore = 0;
  let restsUntil = 0;
  let urgentFrom = 0;
  let failuresInRow = 0;
  const weakInRow = new Set<string>();
  let outcomes: Outcome[] = [];
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
    weakInRow.clear();
    outcomes = [];
    isOnProbation = false;
    if (!wasInUse) return;
    fall++;
    urgentFrom = clock.monotonic() + POOL_URGENT_MS;
    onOpen(error, backoffMs);
  };

  const close = (): void => {
    become('closed', 0);
    isOnProbation = true;
    onClose();
  };

  const remember = (outcome: Outcome): void => {
    outcomes.push(outcome);
    if (outcomes.length > POOL_OUTCOMES_KEPT) outcomes.shift();
  };

  const hasFailedTooOften = (): boolean => {
    const kept = outcomes.reduce((sum, outcome) => sum + weightOf(outcome), 0);
    const inRow = failuresInRow + weakInRow.size * POOL_WEAK_WEIGHT;
    return inRow >= POOL_FAILURES_IN_ROW_MAX || kept >= POOL_FAILURES_KEPT_MAX;
  };

  const waitMs = (): number =>
    // How a trial ends is known soon, but not when.
    state === 'trial' ? POOL_REST_MS : Math.max(0, notBefore - clock.monotonic());

  return {
    get state() {
      return state;
    },
    get isSuspect() {
      return state === 'closed' && (failuresInRow > 0 || weakInRow.size > 0 || isOnProbation);
    },
    get why() {
      return why;
    },
    waitMs,
    urgentMs() {
      if (state === 'closed') return waitMs();
      // What is due anyway waits for nothing.
      if (waitMs() === 0) return 0;
      return Math.max(0, Math.max(urgentFrom, restsUntil) - clock.monotonic());
    },
    enter() {
      if (state === 'open') become('trial', 0);
      if (state === 'trial') urgentFrom = clock.monotonic() + POOL_URGENT_MS;
      const isTrial = state === 'trial';
      const ofFall = fall;
      let mine = era;
      /** What was let through while others failed is heard all the same: it answers now. */
      const spoke = (): void => {
        if (!isTrial || ofFall !== fall || state === 'closed') return;
        close();
        mine = era;
      };
      return {
        spoke,
        succeeded() {
          spoke();
          if (mine !== era) return;
          failuresInRow = 0;
          weakInRow.clear();
          backoffs = 0;
          isOnProbation = false;
          remember('good');
        },
        failed(error) {
          if (mine !== era) return;
          why = error;
          failuresInRow++;
          remember('failed');
          if (state === 'trial' || isOnProbation || hasFailedTooOften()) open(error);
        },
        failedWeakly(error, caller) {
          if (mine !== era) return;
          why = error;
          if (state === 'trial') return become('open', clock.monotonic() + times.backoffMsMin);
          weakInRow.add(caller);
          if (!outcomes.some((outcome) => isWeakOf(outcome, caller))) remember({ caller });
          if (hasFailedTooOften()) open(error);
        },
        busy(error, ms) {
          if (mine !== era) return;
          why = error;
          const until = clock.monotonic() + ms;
          restsUntil = until;
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

function weightOf(outcome: Outcome): number {
  if (outcome === 'good') return 0;
  return outcome === 'failed' ? 1 : POOL_WEAK_WEIGHT;
}

const isWeakOf = (outcome: Outcome, caller: string): boolean =>
  typeof outcome === 'object' && outcome.caller === caller;
