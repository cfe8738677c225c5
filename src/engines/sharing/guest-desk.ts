import { ServiceError } from '../../core/error.ts';
import type { Answers } from '../../lib/message-calls.ts';
import type { Supervised } from '../supervisor.ts';
import type { Held, HostFunctions } from './protocol.ts';

/** Something supervised, which is not stopped before its release. */
export interface SupervisedLease {
  /** Its ready values are plain JSON. */
  readonly supervised: Supervised<unknown>;
  release(idleMs?: number): void;
}

/** What one guest holds here. */
export interface GuestDesk {
  readonly answers: Answers<HostFunctions>;
  /** Something more for the guest, which it may ask for by this number until it releases it. */
  hold(lease: SupervisedLease): Held;
  /** The guest is gone: whatever it held is released. */
  end(): void;
}

interface Entry {
  readonly lease: SupervisedLease;
  life: number;
  /** The value that was told last. */
  value: unknown;
}

/** @param open Leases what runs a model. @throws ServiceError when it cannot be had now. */
export function createGuestDesk(open: (model: string) => Promise<SupervisedLease>): GuestDesk {
  const entries = new Map<number, Entry>();
  let leases = 0;
  let isOver = false;

  const entryOf = ({ lease }: Held): Entry => {
    const entry = entries.get(lease);
    if (entry) return entry;
    throw new ServiceError('overloaded', 'The engine of this model is not available at present.', {
      retryAfterSeconds: 1,
    });
  };

  const hold = (lease: SupervisedLease): Held => {
    const number = ++leases;
    // The guest went while the engine was made.
    if (isOver) lease.release();
    else entries.set(number, { lease, life: 0, value: undefined });
    return { lease: number };
  };

  return {
    hold,
    answers: {
      'engine.open': async (model) => hold(await open(model)),
      async 'engine.ready'(held) {
        const entry = entryOf(held);
        const value = await entry.lease.supervised.ready();
        if (value !== entry.value) {
          entry.value = value;
          entry.life++;
        }
        return { life: entry.life, value };
      },
      async 'engine.gone'({ life, ...held }) {
        const { lease, ...last } = entryOf(held);
        return life !== last.life || (await lease.supervised.gone(last.value));
      },
      'engine.release'({ idleMs, ...held }) {
        const { lease } = entryOf(held);
        entries.delete(held.lease);
        lease.release(idleMs);
      },
    },
    end() {
      isOver = true;
      for (const { lease } of entries.values()) lease.release();
      entries.clear();
    },
  };
}
