import { ServiceError } from '../../core/error.ts';
import { POOL_PROBE_IDLE_MS, POOL_PROBE_MS_MAX, POOL_PROBE_SUSPECT_MS, POOL_PROBE_CONCURRENCY } from './limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { createTimedAbort } from '../../lib/linked-abort.ts';
import { getAbortError } from '../get-abort-error.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import type { PoolMember } from './pool-member.ts';

export interface HealthProberDeps {
  readonly members: readonly PoolMember[];
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Returns a number from 0 (included) to 1 (excluded). */
  readonly random: () => number;
  /** Milliseconds between two checks which members to probe; varied at random by a quarter. */
  readonly intervalMs: number;
}

/**
 * Runs health probes of the members that need one: members with an open breaker whose backoff has passed, suspect
 * members, and members without work for a long time. A successful probe closes the breaker; a failed probe counts as a
 * failed request.
 */
export function createHealthProber({ members, clock, random, intervalMs }: HealthProberDeps): { stop(): void } {
  const probing = new Set<PoolMember>();
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const isDue = ({ breaker, outstanding, lastFinishedAt }: PoolMember): boolean => {
    if (breaker.getWaitMs() > 0) return false;
    if (breaker.state === 'open') return true;
    const idleMs = clock.monotonic() - lastFinishedAt;
    return breaker.isSuspect ? idleMs >= POOL_PROBE_SUSPECT_MS : outstanding === 0 && idleMs >= POOL_PROBE_IDLE_MS;
  };

  const probeMember = async (member: PoolMember): Promise<void> => {
    const work = member.startWork({ isProbe: true });
    probing.add(member);
    try {
      await withProbeTimeout((signal) => member.engine.probe?.(signal), stopped.signal);
      work.recordOutput();
      work.discard();
    } catch (thrown) {
      if (stopped.signal.aborted) work.discard();
      else work.recordFailure(ServiceError.from(thrown));
    } finally {
      probing.delete(member);
    }
  };

  const probeDueMembers = (): void => {
    for (const member of members) {
      if (probing.size >= POOL_PROBE_CONCURRENCY) break;
      if (member.engine.probe && !probing.has(member) && isDue(member)) void probeMember(member);
    }
    scheduleNextCheck();
  };

  const scheduleNextCheck = (): void => {
    timer = setTimeout(probeDueMembers, intervalMs * (0.75 + random() / 2));
    timer.unref();
  };

  if (members.some(({ engine }) => engine.probe)) scheduleNextCheck();
  return {
    stop() {
      clearTimeout(timer);
      stopped.abort();
    },
  };
}

/** Rejects after `POOL_PROBE_MS_MAX` or when `stop` aborts, even if the call ignores its signal. */
async function withProbeTimeout(
  call: (signal: AbortSignal) => Promise<void> | undefined,
  stop: AbortSignal,
): Promise<void> {
  const { signal, unlink } = createTimedAbort(stop, POOL_PROBE_MS_MAX, () => PROBE_TIMEOUT);
  await raceWithAbort(call(signal), signal, getAbortError).finally(unlink);
}

const PROBE_TIMEOUT = new ServiceError('timeout', 'The upstream did not answer its probe in time.');
