import type { Clock } from '../../lib/clock.ts';
import type { MessageCalls } from '../../lib/message-calls.ts';
import { abortReason } from '../abort-reason.ts';
import type { Supervised } from '../supervisor.ts';
import type { Held, HostFunctions, ReadyAs } from './protocol.ts';

interface HeldEngineNeeds<Ready> {
  readonly host: Pick<MessageCalls<HostFunctions>, 'ask'>;
  /** What the host tells of a running child. */
  readonly parse: (value: unknown) => Ready;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * What another process of ours keeps running for a model, held until `stop`.
 * @throws ServiceError when it cannot be had now (weights missing or downloading).
 */
export async function openSharedEngine<Ready>({
  model,
  ...needs
}: HeldEngineNeeds<Ready> & {
  /** Of the catalogue, which the host has too. */
  readonly model: string;
}): Promise<Supervised<Ready>> {
  return heldEngine(await needs.host.ask('engine.open', model), needs);
}

/**
 * What another process of ours keeps running, held until `stop`. A child that runs is asked for once: later calls cost
 * nothing until one of them finds it dead.
 */
export function heldEngine<Ready>({ lease }: Held, { host, parse, clock }: HeldEngineNeeds<Ready>): Supervised<Ready> {
  let current: { readonly life: number; readonly ready: Ready } | undefined;
  let isFailing = false;
  let usedAt = clock.monotonic();

  /** The same child is the same object, whoever asked for it. */
  const remember = ({ life, value }: ReadyAs): Ready => {
    if (current?.life !== life) current = { life, ready: parse(value) };
    return current.ready;
  };

  return {
    get state() {
      if (current) return 'ready';
      return isFailing ? 'failing' : 'starting';
    },
    async ready(signal) {
      usedAt = clock.monotonic();
      if (current) return current.ready;
      try {
        const ready = remember(await host.ask('engine.ready', { lease }, signal));
        isFailing = false;
        return ready;
      } catch (error) {
        if (signal?.aborted) throw abortReason(signal);
        isFailing = true;
        throw error;
      }
    },
    async gone(ready) {
      const known = current;
      if (known?.ready !== ready) return true;
      // Where the host itself has gone, the next call says so.
      const isGone = await host.ask('engine.gone', { lease, life: known.life }).catch(() => true);
      // Not before the host knows: asked any sooner, it might tell the dead one again.
      if (isGone && current === known) current = undefined;
      return isGone;
    },
    async stop() {
      await host.ask('engine.release', { lease, idleMs: clock.monotonic() - usedAt });
    },
  };
}
