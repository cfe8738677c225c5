import type { Clock } from '../../lib/clock.ts';
import type { RpcPeer } from '../../lib/rpc-peer.ts';
import { getAbortError } from '../get-abort-error.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import type { LeaseReference, EngineHostFunctions, ReadyChild } from './protocol.ts';

interface LeasedEngineDeps {
  readonly host: Pick<RpcPeer<EngineHostFunctions>, 'call'>;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * Leases the engine process of a model from the host; the lease ends with `stop`.
 * @throws ServiceError if it is not available now because weights are missing or downloading.
 */
export async function openSharedEngine<Ready>(
  model: string,
  deps: LeasedEngineDeps,
): Promise<SupervisedProcess<Ready>> {
  return createLeasedEngine(await deps.host.call('engine.open', model), deps);
}

/**
 * Creates the client's view of a leased process. The host is asked once for a running process; later calls cost nothing
 * until one finds the process dead.
 */
export function createLeasedEngine<Ready>(
  { lease }: LeaseReference,
  { host, clock }: LeasedEngineDeps,
): SupervisedProcess<Ready> {
  let current: { readonly generation: number; readonly ready: Ready } | undefined;
  let isFailing = false;
  let lastUsedAt = clock.monotonic();

  /** Returns the same object for the same process, whoever requested it. */
  const remember = ({ generation, value }: ReadyChild): Ready => {
    // The host is a process of the same version, so its values need no validation.
    if (current?.generation !== generation) current = { generation, ready: value as Ready };
    return current.ready;
  };

  return {
    get state() {
      if (current) return 'ready';
      return isFailing ? 'failing' : 'starting';
    },
    async waitUntilReady(signal) {
      lastUsedAt = clock.monotonic();
      if (current) return current.ready;
      try {
        const ready = remember(await host.call('engine.ready', { lease }, signal));
        isFailing = false;
        return ready;
      } catch (error) {
        if (signal?.aborted) throw getAbortError(signal);
        isFailing = true;
        throw error;
      }
    },
    async confirmExit(ready) {
      const known = current;
      if (known?.ready !== ready) return true;
      // If the host is gone, too, the next call reports that.
      const isGone = await host.call('engine.gone', { lease, generation: known.generation }).catch(() => true);
      // Forget the process only when the host knows of its exit: otherwise the host might return the dead process
      // again.
      if (isGone && current === known) current = undefined;
      return isGone;
    },
    async stop() {
      await host.call('engine.release', { lease, idleMs: clock.monotonic() - lastUsedAt });
    },
  };
}
