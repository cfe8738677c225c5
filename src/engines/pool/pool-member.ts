import type { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS_MAX } from '../../core/limits.ts';
import { POOL_BUSY_PAUSE_MS } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { isBackground } from '../priority.ts';
import type { EngineOwner, TextEngine } from '../engine.ts';
import { getUpstreamEvidence } from '../upstream-error.ts';
import { hashAddress } from './affinity.ts';
import type { CircuitBreaker } from './circuit-breaker.ts';
import { createCallerFailureTracker } from './caller-failure-tracker.ts';

/** One upstream address of a pool. */
export interface PoolMember {
  /** Host and port for logs and status, without path, query and user. */
  readonly host: string;
  readonly engine: TextEngine;
  readonly breaker: CircuitBreaker;
  /** Seed of the address for rendezvous hashing. */
  readonly seed: number;
  /** Number of requests in progress. */
  readonly outstanding: number;
  /** Callers' requests among them, by priority. */
  readonly outstandingLive: number;
  readonly outstandingBackground: number;
  /** Time when work last finished, in monotonic milliseconds. */
  readonly lastFinishedAt: number;
  /** True while this caller avoids the member, because its own requests repeatedly failed there. */
  isExcludedFor(owner: EngineOwner | undefined): boolean;
  /** Registers work; only allowed while the breaker permits an attempt. */
  startWork(options?: WorkOptions): MemberWork;
}

export interface WorkOptions {
  /** Caller of the request, where known. */
  readonly owner?: EngineOwner | undefined;
  /** The work is a health probe: no request can have caused its failure. */
  readonly isProbe?: boolean;
}

/** Work at a member. It is outstanding until the first of the last three calls; later calls do nothing. */
export interface MemberWork {
  readonly engine: TextEngine;
  /** Reports that the server sent output. */
  recordOutput(): void;
  recordSuccess(): void;
  /** Ends the work without judging the member: the caller left, or the call says nothing about the model. */
  discard(): void;
  /** Ends the work as failed. Returns true if another member may be tried. */
  recordFailure(error: ServiceError): boolean;
}

export interface PoolMemberDeps {
  readonly address: string;
  readonly engine: TextEngine;
  readonly breaker: CircuitBreaker;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Called for output and for a success. */
  readonly onToken?: () => void;
  /** Called when any work has finished. */
  readonly onWorkFinished?: () => void;
}

export function createPoolMember(deps: PoolMemberDeps): PoolMember {
  const { address, engine, breaker, clock, onToken = () => undefined, onWorkFinished = () => undefined } = deps;
  const callerFailures = createCallerFailureTracker({ clock });

  const member = {
    host: getHost(address),
    engine,
    breaker,
    seed: hashAddress(address),
    outstanding: 0,
    outstandingLive: 0,
    outstandingBackground: 0,
    lastFinishedAt: clock.monotonic(),
    isExcludedFor: (owner: EngineOwner | undefined) => callerFailures.isExcluded(getCallerKey(owner)),
    startWork({ owner, isProbe = false }: WorkOptions = {}): MemberWork {
      const attempt = breaker.startAttempt();
      const caller = getCallerKey(owner);
      const isInBackground = owner !== undefined && isBackground(owner);
      const isLive = owner !== undefined && !isInBackground;
      let isFinished = false;
      member.outstanding++;
      if (isLive) member.outstandingLive++;
      if (isInBackground) member.outstandingBackground++;
      const finishOnce = (report: () => void): void => {
        if (isFinished) return;
        isFinished = true;
        member.outstanding--;
        if (isLive) member.outstandingLive--;
        if (isInBackground) member.outstandingBackground--;
        member.lastFinishedAt = clock.monotonic();
        report();
        onWorkFinished();
      };
      return {
        engine,
        recordOutput() {
          if (isFinished) return;
          onToken();
          attempt.recordOutput();
        },
        recordSuccess: () =>
          finishOnce(() => {
            onToken();
            callerFailures.recordSuccess(caller);
            attempt.recordSuccess();
          }),
        discard: () => finishOnce(attempt.cancel),
        recordFailure(error) {
          const failureType = classifyFailure(error);
          finishOnce(() => {
            if (failureType === 'ambiguous' && !isProbe) {
              callerFailures.recordFailure(caller);
              attempt.recordAmbiguousFailure(error, caller);
            } else if (failureType === 'busy') {
              // A busy response to background work must not keep live requests away.
              if (isInBackground) attempt.cancel();
              else attempt.recordBusy(error, getBusyPauseMs(error));
            } else if (failureType) attempt.recordFailure(error);
            else attempt.cancel();
          });
          return failureType !== undefined;
        },
      };
    },
  };
  return member;
}

/** Returns true for a failure that the request may have caused: the server itself seems to work. */
export const isAmbiguousFailure = (error: ServiceError): boolean => getUpstreamEvidence(error) === 'answered';

/** Requests without an owner count as one caller. */
const getCallerKey = (owner: EngineOwner | undefined): string => (owner ? `${owner.workspace}\n${owner.key}` : '');

/** Returns undefined for a failure that the caller caused: it would be the same at every member. */
function classifyFailure(error: ServiceError): 'ambiguous' | 'broken' | 'busy' | undefined {
  switch (error.kind) {
    case 'upstream-failed':
      return isAmbiguousFailure(error) ? 'ambiguous' : 'broken';
    case 'engine-failed':
    case 'timeout':
      return 'broken';
    case 'overloaded':
      return 'busy';
    default:
      return undefined;
  }
}

const getBusyPauseMs = ({ retryAfterSeconds }: ServiceError): number =>
  retryAfterSeconds === undefined ? POOL_BUSY_PAUSE_MS : Math.min(retryAfterSeconds, RETRY_AFTER_SECONDS_MAX) * 1000;

/** An address that is no URL is a name that Parley gave. */
const getHost = (address: string): string => (URL.canParse(address) && new URL(address).host) || address;
