import {
  POOL_ATTEMPTS_MAX,
  POOL_BACKOFF_MS_MAX,
  POOL_BACKOFF_MS_MIN,
  POOL_HEALTH_POLL_MS,
  POOL_SINGLE_BACKOFF_MS_MAX,
} from './limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../engine.ts';
import { createSharedStart, type StartCall } from '../shared-start.ts';
import { computeAffinity } from './affinity.ts';
import { createBackgroundLimiter, type BackgroundLimiter } from './background-limiter.ts';
import { createCircuitBreaker, type BreakerBackoff } from './circuit-breaker.ts';
import { createHealthProber } from './health-prober.ts';
import { createPoolMember, type PoolMember, type MemberWork } from './pool-member.ts';
import { createPoolModel } from './pool-model.ts';
import { createFailover, type Failover, type FailoverOptions } from './failover.ts';
import { startWithFailover } from './start-with-failover.ts';
import { intersectCapabilities } from './intersect-capabilities.ts';

/** One upstream address and the engine that calls it. */
export interface PoolEndpoint {
  /** URL, or a name that Parley gave; only the host of a URL is shown. */
  readonly address: string;
  readonly engine: TextEngine;
}

export interface PoolOptions extends Partial<BreakerBackoff> {
  /** Maximum number of members that one request is sent to. */
  readonly attemptsMax?: number;
  /** Milliseconds between two checks which members to probe. */
  readonly healthIntervalMs?: number;
}

/** How the workspaces share the members. */
export interface PoolShare {
  /** Answers that each member runs at once. */
  readonly memberSequences: number;
  /** Share of all of them that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
}

export interface PoolDeps {
  /** At least one; all with the same `input` capability. */
  readonly endpoints: readonly PoolEndpoint[];
  /** Absent: members share their slots themselves, or have no limit. */
  readonly share?: PoolShare | undefined;
  readonly log: Log;
  /** Name of the model, for the log: models on the same addresses have breakers of their own. */
  readonly model?: string;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random?: () => number;
  readonly options?: PoolOptions;
  /** Called for the first output of an answer and for its end. */
  readonly onToken?: () => void;
}

/** Status of one address, for display. */
export interface PoolMemberStatus {
  readonly address: string;
  /**
   * `ready`: in use. `suspect`: in use, its last request failed. `busy`: it asked for a pause. `down`: it failed and waits
   * for its backoff. `trial`: its breaker is half-open.
   */
  readonly state: 'ready' | 'suspect' | 'busy' | 'down' | 'trial';
  /** Number of requests in progress. */
  readonly outstanding: number;
  /** Milliseconds until the address is used again, while it is not. */
  readonly waitMs?: number;
}

export interface Pool extends TextEngine {
  /** Returns the status of the members, in their order. */
  describe(): readonly PoolMemberStatus[];
}

/**
 * Creates an engine that balances load over several addresses of one model. It can do what all of them can do.
 *
 * A request goes to the address whose prefix cache holds the beginning of its conversation, or to the least busy one. A
 * failure before the first event is retried at another address; a later failure is passed on. A circuit breaker stops the
 * use of an address that fails repeatedly, until a probe or a half-open attempt succeeds. While all breakers are open, a
 * few requests per second are let through as attempts, and the others are refused with `overloaded`.
 */
export function createPool(deps: PoolDeps): Pool {
  const { endpoints, log, model, clock, random = Math.random, options = {}, onToken } = deps;
  const {
    attemptsMax = POOL_ATTEMPTS_MAX,
    healthIntervalMs = POOL_HEALTH_POLL_MS,
    backoffMsMin = POOL_BACKOFF_MS_MIN,
    backoffMsMax = endpoints.length === 1 ? POOL_SINGLE_BACKOFF_MS_MAX : POOL_BACKOFF_MS_MAX,
  } = options;
  const inputs = new Set(endpoints.map(({ engine }) => engine.capabilities.input));
  assert(inputs.size === 1, 'a pool needs at least one endpoint, all with the same input');

  const members = endpoints.map(({ address, engine }): PoolMember => {
    const member: PoolMember = createPoolMember({
      address,
      engine,
      clock,
      ...(onToken ? { onToken } : {}),
      onWorkFinished: () => limiter.onWorkFinished(),
      breaker: createCircuitBreaker({
        clock,
        random,
        backoff: { backoffMsMin, backoffMsMax },
        onOpen(error, backoffMs) {
          log.warn('upstream address disabled after failures', {
            model,
            address: member.host,
            kind: error.kind,
            why: error.cause instanceof Error ? error.cause.message : error.message,
            backoffMs: Math.round(backoffMs),
          });
        },
        onClose: () => log.info('upstream address enabled again', { model, address: member.host }),
      }),
    });
    return member;
  });

  const limiter = createBackgroundLimiter(members);
  const startShared =
    deps.share && createSharedStart({ ...deps.share, sequences: members.length * deps.share.memberSequences }, clock);
  const createRequestFailover = (failoverOptions: FailoverOptions = {}): Failover =>
    createFailover({ members, attemptsMax, random }, failoverOptions);
  const poolModel = createPoolModel({ members, clock, log });
  const prober = createHealthProber({ members, clock, random, intervalMs: healthIntervalMs });

  return {
    // A member that is down may not have reported its capabilities yet, and must not restrict the others.
    get capabilities() {
      return intersectCapabilities(poolModel.getKnownMembers().map(({ engine }) => engine.capabilities));
    },
    get state() {
      return getPoolState(members);
    },
    ...createSharedEngines(members, createRequestFailover, limiter),
    start(request, signal) {
      // A request that the limiter keeps waiting must not hold a sequence.
      return limiter.run(request.owner, signal, (onRegistered) => {
        const start: StartCall = (call, options) => {
          const failover = createRequestFailover({
            signal: options.signal,
            owner: call.owner,
            affinity: () => computeAffinity(call),
          });
          return runRegistered(onRegistered, () => startWithFailover(call, { ...options, failover }));
        };
        return startShared ? startShared(request, signal, start) : start(request, { signal });
      });
    },
    loadModel: poolModel.getModel,
    countTokens: (input, owner) =>
      createRequestFailover().run({ call: ({ engine }) => engine.countTokens(input, owner), isLightweight: true }),
    tokenize: (input, owner) =>
      createRequestFailover().run({ call: ({ engine }) => engine.tokenize(input, owner), isLightweight: true }),
    describe: () => members.map(describeMember),
    async close() {
      prober.stop();
      const closings = await Promise.allSettled(members.map(({ engine }) => engine.close()));
      for (const closing of closings) if (closing.status === 'rejected') throw closing.reason;
    },
  };
}

/** Runs a call that registers its work with a member before its first `await`. */
function runRegistered<T>(onRegistered: () => void, call: () => Promise<T>): Promise<T> {
  const result = call();
  onRegistered();
  return result;
}

/** Creates embeddings and ranking, each only if all members have it. */
function createSharedEngines(
  members: readonly PoolMember[],
  createRequestFailover: (options?: FailoverOptions) => Failover,
  limiter: BackgroundLimiter,
): Pick<TextEngine, 'embeddings' | 'ranking'> {
  const embeddings: EmbeddingEngine = {
    getDimensions: () =>
      createRequestFailover().run({ call: (work) => getPart(work, 'embeddings').getDimensions(), isLightweight: true }),
    embed: (request, signal) =>
      limiter.run(request.owner, signal, (onRegistered) =>
        runRegistered(onRegistered, () =>
          createRequestFailover({ signal, owner: request.owner }).run({
            call: (work) => getPart(work, 'embeddings').embed(request, signal),
          }),
        ),
      ),
  };
  const ranking: RankingEngine = {
    rank: (request, signal) =>
      limiter.run(request.owner, signal, (onRegistered) =>
        runRegistered(onRegistered, () =>
          createRequestFailover({ signal, owner: request.owner }).run({
            call: (work) => getPart(work, 'ranking').rank(request, signal),
          }),
        ),
      ),
  };
  return {
    ...(members.every(({ engine }) => engine.embeddings) ? { embeddings } : {}),
    ...(members.every(({ engine }) => engine.ranking) ? { ranking } : {}),
  };
}

function getPart<Name extends 'embeddings' | 'ranking'>({ engine }: MemberWork, name: Name) {
  const part = engine[name];
  assert(part, `every member of this pool has ${name}`);
  return part;
}

/** A busy address works. One whose backoff has passed may work: state `failing` would keep the testing request away. */
function getPoolState(members: readonly PoolMember[]): TextEngine['state'] {
  const states = members.map(({ engine, breaker }) => {
    if (breaker.state === 'closed') return engine.state;
    return breaker.state === 'half-open' || breaker.getWaitMs() === 0 ? 'starting' : 'failing';
  });
  return states.includes('ready') ? 'ready' : states.includes('starting') ? 'starting' : 'failing';
}

function describeMember({ host, breaker, outstanding }: PoolMember): PoolMemberStatus {
  const waitMs = Math.round(breaker.getWaitMs());
  switch (breaker.state) {
    case 'half-open':
      return { address: host, state: 'trial', outstanding };
    case 'open':
      return { address: host, state: 'down', outstanding, waitMs };
    case 'closed':
      return waitMs > 0
        ? { address: host, state: 'busy', outstanding, waitMs }
        : { address: host, state: breaker.isSuspect ? 'suspect' : 'ready', outstanding };
  }
}
