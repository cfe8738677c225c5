import { ServiceError } from '../core/error.ts';
import type { ActiveList } from './active-list.ts';
import type { Call } from './call.ts';
import type { RunningSocket } from './run-socket.ts';

/** Returns whether a key exists, and is neither revoked nor expired, without a cache. */
export type IsKeyActive = (keyId: string) => Promise<boolean>;

/**
 * Interval of the checks in ms. A call that began on a cached key, at the end of KEY_CACHE_MS, is checked at an age of one
 * interval at least, and two at most.
 */
export const KEY_CHECK_MS = 1_000;

interface RunningWork {
  readonly calls: ActiveList<Call>;
  readonly sockets: ActiveList<RunningSocket>;
}

/**
 * Creates the check that ends streams, other calls and websockets whose key was revoked or has expired since they began.
 * Each key is looked up once, and calls that are younger than the interval are left to the next check. If the store
 * fails, the work goes on.
 */
export function createRevocationCheck({ calls, sockets }: RunningWork, isKeyActive: IsKeyActive): () => Promise<void> {
  return async () => {
    const abortsByKey = new Map<string, ((reason: ServiceError) => void)[]>();
    const add = (keyId: string, abort: (reason: ServiceError) => void): void => {
      const aborts = abortsByKey.get(keyId);
      if (aborts) aborts.push(abort);
      else abortsByKey.set(keyId, [abort]);
    };
    for (const call of calls.list())
      if (call.owner && call.elapsedMs() >= KEY_CHECK_MS) add(call.owner.keyId, (reason) => call.abort(reason));
    for (const { keyId, session } of sockets.list()) add(keyId, (reason) => session.abort(reason));
    await Promise.allSettled(
      [...abortsByKey].map(async ([keyId, aborts]) => {
        if (await isKeyActive(keyId)) return;
        const reason = new ServiceError('unauthenticated', 'The key was revoked, or has expired, during the request.', {
          replacesPrescribedText: true,
        });
        for (const abort of aborts) abort(reason);
      }),
    );
  };
}
