import { createEngineUnavailableError } from '../../core/generation-errors.ts';
import type { RpcHandlers } from '../../lib/rpc-peer.ts';
import type { SupervisedProcess } from '../supervisor.ts';
import type { LeaseReference, EngineHostFunctions } from './protocol.ts';

/** Lease of a supervised process, which is not stopped before its release. */
export interface SupervisedLease {
  /** Its ready values must be plain JSON. */
  readonly supervised: SupervisedProcess<unknown>;
  release(idleMs?: number): void;
}

/** The leases of one client process. */
export interface LeaseTable {
  readonly handlers: RpcHandlers<EngineHostFunctions>;
  /** Adds a lease, which the client may use by the returned number until it releases it. */
  addLease(lease: SupervisedLease): LeaseReference;
  /** Releases all leases because the client is gone. */
  releaseAll(): void;
}

interface Entry {
  readonly lease: SupervisedLease;
  generation: number;
  /** The ready value that was sent last. */
  value: unknown;
}

/**
 * Creates the lease table of one client process.
 * @param open Leases the process that runs a model. @throws ServiceError if the model is not available now.
 */
export function createLeaseTable(open: (model: string) => Promise<SupervisedLease>): LeaseTable {
  const entries = new Map<number, Entry>();
  let leaseCount = 0;
  let isClosed = false;

  const getEntry = ({ lease }: LeaseReference): Entry => {
    const entry = entries.get(lease);
    if (entry) return entry;
    throw createEngineUnavailableError(1);
  };

  const addLease = (lease: SupervisedLease): LeaseReference => {
    const number = ++leaseCount;
    // The client disconnected while the engine started.
    if (isClosed) lease.release();
    else entries.set(number, { lease, generation: 0, value: undefined });
    return { lease: number };
  };

  return {
    addLease,
    handlers: {
      'engine.open': async (model) => addLease(await open(model)),
      async 'engine.ready'(reference) {
        const entry = getEntry(reference);
        const value = await entry.lease.supervised.waitUntilReady();
        if (value !== entry.value) {
          entry.value = value;
          entry.generation++;
        }
        return { generation: entry.generation, value };
      },
      async 'engine.gone'({ generation, ...reference }) {
        const { lease, ...last } = getEntry(reference);
        return generation !== last.generation || (await lease.supervised.confirmExit(last.value));
      },
      'engine.release'({ idleMs, ...reference }) {
        const { lease } = getEntry(reference);
        entries.delete(reference.lease);
        lease.release(idleMs);
      },
    },
    releaseAll() {
      isClosed = true;
      for (const { lease } of entries.values()) lease.release();
      entries.clear();
    },
  };
}
