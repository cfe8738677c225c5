import {
  POOL_ATTEMPTS_MAX,
  POOL_BACKOFF_MS_MAX,
  POOL_BACKOFF_MS_MIN,
  POOL_HEALTH_MS,
  POOL_LONE_BACKOFF_MS_MAX,
} from '../../core/limits.ts';
import type { Log } from '../../core/telemetry.ts';
import { assert } from '../../lib/assert.ts';
import type { Clock } from '../../lib/clock.ts';
import type { EmbeddingEngine, RankingEngine, TextEngine } from '../engine.ts';
import { affinityOf } from './affinity.ts';
import { createBackgroundGate } from './background-gate.ts';
import type { BackgroundGate } from './background-gate.ts';
import { createBreaker } from './breaker.ts';
import type { BreakerTimes } from './breaker.ts';
import { createHealth } from './health.ts';
import { createMember } from './member.ts';
import type { Member, Work } from './member.ts';
import { createPoolModel } from './pool-model.ts';
import { createRound } from './round.ts';
import type { Round, RoundOptions } from './round.ts';
import { startRun } from './start-run.ts';
import { weakestCapabilities } from './weakest.ts';

/** One address of the model. */
export interface PoolMember {
  /** URL, or a name of ours; only its host is told. */
  readonly address: string;
  readonly engine: TextEngine;
}

export interface PoolOptions extends Partial<BreakerTimes> {
  /** Members that one request is put to, at most. */
  readonly attemptsMax?: number;
  /** Ms between two looks at which members are to be probed. */
  readonly healthMs?: number;
}

export interface PoolNeeds {
  /** At least one; all of the same input. */
  readonly members: readonly PoolMember[];
  readonly log: Log;
  readonly clock: Pick<Clock, 'monotonic'>;
  /** From 0 up to 1. */
  readonly random?: () => number;
  readonly options?: PoolOptions;
  /** Hears of the first piece of an answer, and of its end. */
  readonly onToken?: () => void;
}

/** How one address does, for people. */
export interface PoolMemberState {
  readonly address: string;
  /** `busy`: it said so, and is left alone until it has room. `down`: it failed and is left alone. `trial`: one call is to show whether it is well again. */
  readonly state: 'ready' | 'suspect' | 'busy' | 'down' | 'trial';
  /** Requests that it works on now. */
  readonly outstanding: number;
  /** Of what is left alone: ms until it may be asked again. */
  readonly waitMs?: number;
}

export interface Pool extends TextEngine {
  /** Its members, in their order. */
  describe(): readonly PoolMemberState[];
}

/**
 * Several addresses of one model as one engine, which can do what all of them can.
 *
 * A request goes to the address that has the beginning of its conversation in its cache, or to the least busy one. What
 * fails before its first event is put to another address, and nobody hears of it; what fails after it is told. An address
 * that fails again and again is left alone, and put back into use when a probe or a trial shows that it is well. Where all
 * are left alone, a few calls a second are let through as trials, and the others are refused as `overloaded`.
 */
export function createPool(needs: PoolNeeds): Pool {
  const { members: given, log, clock, random = Math.random, options = {}, onToken } = needs;
  const {
    attemptsMax = POOL_ATTEMPTS_MAX,
    healthMs = POOL_HEALTH_MS,
    backoffMsMin = POOL_BACKOFF_MS_MIN,
    backoffMsMax = given.length === 1 ? POOL_LONE_BACKOFF_MS_MAX : POOL_BACKOFF_MS_MAX,
  } = options;
  const inputs = new Set(given.map(({ engine }) => engine.capabilities.input));
  assert(inputs.size === 1, 'a pool has members, all of the same input');

  const members = given.map(({ address, engine }): Member => {
    const member: Member = createMember({
      address,
      engine,
      clock,
      ...(onToken ? { onToken } : {}),
      onOver: () => gate.over(),
      breaker: createBreaker({
        clock,
        random,
        times: { backoffMsMin, backoffMsMax },
        onOpen(error, backoffMs) {
          log.warn('an upstream address fails and is left alone', {
            address: member.host,
            kind: error.kind,
            why: error.cause instanceof Error ? error.cause.message : error.message,
            backoffMs: Math.round(backoffMs),
          });
        },
        onClose: () => log.info('an upstream address is in use again', { address: member.host }),
      }),
    });
    return member;
  });

  const gate = createBackgroundGate(members);
  const round = (of: RoundOptions = {}): Round => createRound({ members, attemptsMax, random }, of);
  const shared = createPoolModel({ members, clock, log });
  const health = createHealth({ members, clock, random, everyMs: healthMs });

  return {
    // What is down may not have said yet what it can do, and must not take anything away from the others.
    get capabilities() {
      return weakestCapabilities(shared.known().map(({ engine }) => engine.capabilities));
    },
    get state() {
      return stateOf(members);
    },
    ...sharedParts(members, round, gate),
    start: (request, signal) =>
      gate.call(request.owner, signal, () =>
        startRun(request, signal, round({ signal, owner: request.owner, affinity: () => affinityOf(request) })),
      ),
    model: shared.model,
    countTokens: (input) => round().ask({ call: ({ engine }) => engine.countTokens(input), isLight: true }),
    tokenize: (input) => round().ask({ call: ({ engine }) => engine.tokenize(input), isLight: true }),
    describe: () => members.map(describeMember),
    async close() {
      health.stop();
      const closings = await Promise.allSettled(members.map(({ engine }) => engine.close()));
      for (const closing of closings) if (closing.status === 'rejected') throw closing.reason;
    },
  };
}

/** Vectors and scores, where all members make them. */
function sharedParts(
  members: readonly Member[],
  round: (of?: RoundOptions) => Round,
  gate: BackgroundGate,
): Pick<TextEngine, 'embeddings' | 'ranking'> {
  const embeddings: EmbeddingEngine = {
    dimensions: () => round().ask({ call: (work) => embeddingsOf(work).dimensions(), isLight: true }),
    embed: (request, signal) =>
      gate.call(request.owner, signal, () =>
        round({ signal, owner: request.owner }).ask({ call: (work) => embeddingsOf(work).embed(request, signal) }),
      ),
  };
  const ranking: RankingEngine = {
    rank: (request, signal) =>
      gate.call(request.owner, signal, () =>
        round({ signal, owner: request.owner }).ask({ call: (work) => rankingOf(work).rank(request, signal) }),
      ),
  };
  return {
    ...(members.every(({ engine }) => engine.embeddings) ? { embeddings } : {}),
    ...(members.every(({ engine }) => engine.ranking) ? { ranking } : {}),
  };
}

function embeddingsOf({ engine: { embeddings } }: Work): EmbeddingEngine {
  assert(embeddings, 'a member of a pool that makes vectors makes them');
  return embeddings;
}

function rankingOf({ engine: { ranking } }: Work): RankingEngine {
  assert(ranking, 'a member of a pool that ranks does');
  return ranking;
}

/** An address that is only busy is well. One that is due for a trial may be: to call it `failing` would keep that off. */
function stateOf(members: readonly Member[]): TextEngine['state'] {
  const states = members.map(({ engine, breaker }) => {
    if (breaker.state === 'closed') return engine.state;
    return breaker.state === 'trial' || breaker.waitMs() === 0 ? 'starting' : 'failing';
  });
  return states.includes('ready') ? 'ready' : states.includes('starting') ? 'starting' : 'failing';
}

function describeMember({ host, breaker, outstanding }: Member): PoolMemberState {
  const waitMs = Math.round(breaker.waitMs());
  switch (breaker.state) {
    case 'trial':
      return { address: host, state: 'trial', outstanding };
    case 'open':
      return { address: host, state: 'down', outstanding, waitMs };
    case 'closed':
      return waitMs > 0
        ? { address: host, state: 'busy', outstanding, waitMs }
        : { address: host, state: breaker.isSuspect ? 'suspect' : 'ready', outstanding };
  }
}
