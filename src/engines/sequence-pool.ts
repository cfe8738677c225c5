import type { Clock } from '../lib/clock.ts';
import { createTimedAbort } from '../lib/linked-abort.ts';
import {
  canTakeSequence,
  createClaimComparison,
  createActiveWorkspaces,
  findYielding,
  type BusySequence,
} from './fair-share.ts';
import { createFairQueue } from './fair-queue.ts';
import { createQueueRefusal, type RefusalReason } from './fair-semaphore.ts';
import { getAbortError } from './get-abort-error.ts';
import { SHARE_RESERVE_MS, YIELD_MS } from './limits.ts';
import { getPriorityRank, getWaitMsMax, isBackground, isLive } from './priority.ts';
import type { EngineOwner } from './engine.ts';

/**
 * The sequences of an engine, or the slots of a server. Runs that wait are served in turn, by workspace, key and arrival;
 * runs of lower priority, and those of workspaces and keys that hold more, are interrupted for them, as in the embedded
 * engine.
 */
export interface SequencePool {
  /**
   * Waits for the first sequence of a run. It gets more, up to the number of its choices, as they become free.
   * @throws ServiceError `overloaded` if too many runs wait or the wait is too long; `rate-limited` if the key has used its
   *   share of the queue; the signal's reason.
   */
  acquire(run: PoolRun, signal: AbortSignal): Promise<RunSequences>;
  /** Must be called when the number of sequences has changed. */
  recheck(): void;
}

export interface PoolRun {
  readonly owner: EngineOwner;
  readonly choices: number;
  /** Whether the run can stop now and continue later. Default: always. */
  readonly canInterrupt?: () => boolean;
  /** Called when the run has lost its last sequence. */
  readonly onInterrupt?: () => void;
  /** Whether a run without a sequence needs none now, because its reader is behind. Default: never. */
  readonly isUnread?: () => boolean;
  /** The run belongs to a request that has started: it waits as long as it takes, beside the queue. */
  readonly hasStarted?: boolean;
}

/** The sequences of one run. */
export interface RunSequences {
  /** Returns undefined if the run has a sequence; otherwise resolves when it has one again, or when the signal aborts. */
  waitWhileInterrupted(signal: AbortSignal): Promise<void> | undefined;
  /** Only the first call has an effect. */
  release(): void;
}

export interface SequencePoolOptions {
  /** Returns the number of sequences; Infinity if it is unknown. */
  readonly getTotal: () => number;
  /** Share of the sequences that a workspace keeps while others wait, from 0 to 1. */
  readonly workspaceShare: number;
  /** Whether background runs leave the last sequence to live ones, unless all are free. */
  readonly hasLiveReserve: boolean;
  readonly queueLengthMax: number;
  readonly queueWaitMsMax: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

interface PooledRun extends PoolRun {
  readonly busy: RunSequence[];
  /** Time when the run got or lost its last sequence. */
  waitingSince?: number;
  /** Called when the run gets a sequence while it has none. */
  onAcquired: () => void;
}

interface RunSequence extends BusySequence {
  readonly run: PooledRun;
}

export function createSequencePool(options: SequencePoolOptions): SequencePool {
  const { getTotal, workspaceShare, hasLiveReserve, queueLengthMax, queueWaitMsMax, clock } = options;
  /** Runs that have had a sequence, in the order of their start. */
  const started = new Set<PooledRun>();
  const queue = createFairQueue<PooledRun>({ lengthMax: queueLengthMax });
  const active = createActiveWorkspaces(SHARE_RESERVE_MS);
  let recheckTimer: NodeJS.Timeout | undefined;

  /** Gives the next sequence. Returns false if nothing waits that can have one now. */
  const admitOne = (): boolean => {
    const total = getTotal();
    const now = clock.monotonic();
    const busy = [...started].flatMap((run) => run.busy);
    const claims = [...[...started].filter(isLacking), ...queue.peekEach()];
    for (const { owner } of [...busy, ...claims]) if (isLive(owner)) active.record(owner.workspace, now);
    const rank = Math.min(...claims.map(getRank));
    const busyOfRank = busy.filter((each) => getRank(each) === rank);
    const share = { total, workspaceShare, now, active };
    const byClaim = createClaimComparison(busyOfRank);
    const canTake = (run: PooledRun): boolean =>
      !isLive(run.owner) ||
      (canTakeSequence(run.owner, busyOfRank, share) && !wouldBlockOthers(run, busyOfRank, total));
    const [run] = claims
      .filter((each) => getRank(each) === rank && canTake(each))
      .toSorted((one, other) => byClaim(one.owner, other.owner));
    if (!run) return false;
    const isKept = hasLiveReserve && isBackground(run.owner) && busy.length > 0;
    if (busy.length >= (isKept ? total - 1 : total)) {
      const latest = busy.toReversed().filter((each) => canInterrupt(each.run));
      const lower = latest
        .filter((each) => getRank(each) > rank)
        .toSorted((one, other) => getRank(other) - getRank(one));
      const equal = latest.filter((each) => getRank(each) === rank);
      const [yielding] = [...lower, ...findYielding(run, equal, share)];
      if (!yielding) return false;
      yielding.run.busy.splice(yielding.run.busy.indexOf(yielding), 1);
      yielding.run.waitingSince = now;
      if (yielding.run.busy.length === 0) yielding.run.onInterrupt?.();
    }
    if (!started.has(run)) queue.take(run);
    started.add(run);
    run.busy.push({ owner: run.owner, since: now, run });
    run.waitingSince = now;
    if (run.busy.length === 1) run.onAcquired();
    return true;
  };

  const admit = (): void => {
    while (admitOne());
    clearTimeout(recheckTimer);
    // Runs may be interrupted only after a while.
    if (queue.length > 0 || [...started].some(isLacking)) recheckTimer = setTimeout(admit, YIELD_MS).unref();
  };

  const createSequences = (run: PooledRun): RunSequences => ({
    waitWhileInterrupted(signal) {
      if (queue.length > 0) admit();
      if (run.busy.length > 0 || !started.has(run) || signal.aborted) return undefined;
      return new Promise((resolve) => {
        run.onAcquired = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
        // A run whose reader was behind has not waited before.
        admit();
      });
    },
    release() {
      if (started.delete(run)) admit();
    },
  });

  const enqueue = (run: PooledRun): void => {
    const verdict = queue.add(run.owner, run);
    if (verdict !== 'added') throw createQueueRefusal(verdict);
  };

  return {
    async acquire(poolRun, signal) {
      const waitMs = poolRun.hasStarted ? undefined : getWaitMsMax(poolRun.owner, queueWaitMsMax);
      const wait = createTimedAbort(signal, waitMs, () => WAITED_TOO_LONG);
      const { promise, resolve, reject } = Promise.withResolvers<RunSequences>();
      const run: PooledRun = { ...poolRun, busy: [], onAcquired: () => resolve(createSequences(run)) };
      const onAbort = (): void => {
        queue.remove(run);
        started.delete(run);
        reject(wait.signal.reason === WAITED_TOO_LONG ? createQueueRefusal('wait') : getAbortError(wait.signal));
        // A later run may be served now.
        admit();
      };
      try {
        if (signal.aborted) throw getAbortError(signal);
        // Without a limit there is nothing to share.
        if (getTotal() === Infinity) return createSequences(run);
        if (run.hasStarted) {
          run.waitingSince = clock.monotonic();
          started.add(run);
        } else enqueue(run);
        wait.signal.addEventListener('abort', onAbort, { once: true });
        admit();
        return await promise;
      } finally {
        wait.signal.removeEventListener('abort', onAbort);
        wait.unlink();
      }
    },
    recheck: admit,
  };
}

/** Reason of an abort after the longest wait. */
const WAITED_TOO_LONG: RefusalReason = 'wait';

const canInterrupt = (run: PoolRun): boolean => run.canInterrupt?.() ?? true;

/**
 * Whether a run that cannot be interrupted would take the last sequence: a request of another workspace could then get none
 * until such a run ends, however long it is. Applies also while its workspace is alone.
 */
function wouldBlockOthers(run: PooledRun, busy: readonly RunSequence[], total: number): boolean {
  if (total < 2 || canInterrupt(run)) return false;
  const fixed = busy.filter((each) => each.owner.workspace === run.owner.workspace && !canInterrupt(each.run));
  return fixed.length >= total - 1;
}

const isLacking = ({ busy, choices, isUnread }: PooledRun): boolean => busy.length < choices && isUnread?.() !== true;

const getRank = ({ owner }: { readonly owner: EngineOwner }): number => getPriorityRank(owner);
