import type { ServiceError } from '../../core/error.ts';
import { POOL_REST_MS, RETRY_AFTER_SECONDS_MAX } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { TextEngine } from '../engine.ts';
import { seedOf } from './affinity.ts';
import type { Breaker } from './breaker.ts';

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
  /** When work of it last ended, in ms of the monotonic clock. */
  readonly heardAt: number;
  /** Only where the breaker's `waitMs` says 0. */
  begin(): Work;
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
}

export function createMember({ address, engine, breaker, clock, onToken = () => undefined }: MemberNeeds): Member {
  let outstanding = 0;
  let heardAt = clock.monotonic();

  return {
    host: hostOf(address),
    engine,
    breaker,
    seed: seedOf(address),
    get outstanding() {
      return outstanding;
    },
    get heardAt() {
      return heardAt;
    },
    begin() {
      const pass = breaker.enter();
      let isOver = false;
      outstanding++;
      const once = (tell: () => void): void => {
        if (isOver) return;
        isOver = true;
        outstanding--;
        heardAt = clock.monotonic();
        tell();
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
            pass.succeeded();
          }),
        left: () => once(pass.left),
        failed(error) {
          const fault = faultOf(error);
          once(() => {
            if (fault === 'broken') pass.failed(error);
            else if (fault === 'busy') pass.busy(error, restMs(error));
            else pass.left();
          });
          return fault !== undefined;
        },
      };
    },
  };
}

/** Whether a failure is the member's; anything else is its caller's, and would be the same elsewhere. */
function faultOf({ kind }: ServiceError): 'broken' | 'busy' | undefined {
  switch (kind) {
    case 'upstream-failed':
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
