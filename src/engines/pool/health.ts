import { ServiceError } from '../../core/error.ts';
import {
  POOL_PROBE_IDLE_MS,
  POOL_PROBE_MS_MAX,
  POOL_PROBE_SUSPECT_MS,
  POOL_PROBES_AT_ONCE,
} from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import { linkedAbort } from '../../lib/linked-abort.ts';
import { abortReason } from '../abort-reason.ts';
import type { Member } from './member.ts';

export interface HealthNeeds {
  readonly members: readonly Member[];
  readonly clock: Pick<Clock, 'monotonic'>;
  /** From 0 up to 1. */
  readonly random: () => number;
  /** Ms between two looks, give or take a quarter. */
  readonly everyMs: number;
}

/**
 * Probes members that somebody should look after: out of use and due for a trial, in use but suspect, without work for
 * long. A probe that succeeds puts a member back into use; one that fails counts as a failed request.
 */
export function createHealth({ members, clock, random, everyMs }: HealthNeeds): { stop(): void } {
  const probing = new Set<Member>();
  const stopped = new AbortController();
  let timer: NodeJS.Timeout | undefined;

  const isDue = ({ breaker, outstanding, heardAt }: Member): boolean => {
    if (breaker.waitMs() > 0) return false;
    if (breaker.state === 'open') return true;
    const quietMs = clock.monotonic() - heardAt;
    return breaker.isSuspect ? quietMs >= POOL_PROBE_SUSPECT_MS : outstanding === 0 && quietMs >= POOL_PROBE_IDLE_MS;
  };

  const probe = async (member: Member): Promise<void> => {
    const work = member.begin();
    probing.add(member);
    try {
      await inTime((signal) => member.engine.probe?.(signal), stopped.signal);
      work.spoke();
      work.left();
    } catch (thrown) {
      if (stopped.signal.aborted) work.left();
      else work.failed(ServiceError.from(thrown));
    } finally {
      probing.delete(member);
    }
  };

  const look = (): void => {
    for (const member of members) {
      if (probing.size >= POOL_PROBES_AT_ONCE) break;
      if (member.engine.probe && !probing.has(member) && isDue(member)) void probe(member);
    }
    lookLater();
  };

  const lookLater = (): void => {
    timer = setTimeout(look, everyMs * (0.75 + random() / 2));
    timer.unref();
  };

  if (members.some(({ engine }) => engine.probe)) lookLater();
  return {
    stop() {
      clearTimeout(timer);
      stopped.abort();
    },
  };
}

/** Rejects after a while, or when it is to stop, also where the call does not listen to its signal. */
async function inTime(call: (signal: AbortSignal) => Promise<void> | undefined, stop: AbortSignal): Promise<void> {
  const { signal, abort, unlink } = linkedAbort(stop);
  const timer = setTimeout(() => abort(TOO_LATE), POOL_PROBE_MS_MAX);
  timer.unref();
  const aborted = new Promise<never>((_, reject) => {
    signal.addEventListener('abort', () => reject(abortReason(signal)), { once: true });
  });
  try {
    await Promise.race([call(signal), aborted]);
  } finally {
    clearTimeout(timer);
    unlink();
  }
}

const TOO_LATE = new ServiceError('timeout', 'The upstream did not answer its probe in time.');
