import { getAbortError } from '../get-abort-error.ts';
import { getPriorityRank } from '../priority.ts';
import type { EngineOwner } from '../engine.ts';

/** Limits the number of concurrent runs. Runs of higher priority preempt others, as in the embedded engine. */
export interface SequencePool {
  /** Waits for a sequence. @throws the signal's reason. */
  acquire(owner: EngineOwner, signal: AbortSignal): Promise<ScriptedSequence>;
}

/** The sequence of one run. */
export interface ScriptedSequence {
  /** Returns undefined if the run may continue; otherwise resolves when it may, or when its signal aborts. */
  waitWhilePreempted(signal: AbortSignal): Promise<void> | undefined;
  release(): void;
}

interface SequenceRun {
  readonly owner: EngineOwner;
  /** Called when the run gets its sequence, for the first time or again. */
  onAcquired: () => void;
  isPreempted: boolean;
}

export function createSequencePool(count: number): SequencePool {
  /** Running and preempted runs, in the order of their start. */
  const started = new Set<SequenceRun>();
  const waiting = new Set<SequenceRun>();

  const listRunning = (): readonly SequenceRun[] => [...started].filter(({ isPreempted }) => !isPreempted);

  /** Returns the next run: by priority; preempted runs precede those that have not started. */
  const findNext = (): SequenceRun | undefined =>
    [...[...started].filter(({ isPreempted }) => isPreempted), ...waiting].toSorted(compareByRank)[0];

  /** Returns the run to preempt for another one: of the lowest priority, the one that started last. */
  const findPreemptible = (run: SequenceRun): SequenceRun | undefined =>
    listRunning()
      .toReversed()
      .toSorted((one, other) => compareByRank(other, one))
      .find((other) => compareByRank(run, other) < 0);

  const admit = (): void => {
    for (let run = findNext(); run; run = findNext()) {
      if (listRunning().length >= count) {
        const other = findPreemptible(run);
        if (!other) return;
        other.isPreempted = true;
      }
      waiting.delete(run);
      started.add(run);
      run.isPreempted = false;
      run.onAcquired();
    }
  };

  const createSequence = (run: SequenceRun): ScriptedSequence => ({
    waitWhilePreempted(signal) {
      if (!run.isPreempted || signal.aborted) return undefined;
      return new Promise((resolve) => {
        run.onAcquired = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    },
    release() {
      started.delete(run);
      admit();
    },
  });

  return {
    acquire: (owner, signal) =>
      new Promise((resolve, reject) => {
        const run: SequenceRun = {
          owner,
          isPreempted: false,
          onAcquired() {
            signal.removeEventListener('abort', onAbort);
            run.onAcquired = () => undefined;
            resolve(createSequence(run));
          },
        };
        const onAbort = (): void => {
          waiting.delete(run);
          reject(getAbortError(signal));
        };
        waiting.add(run);
        signal.addEventListener('abort', onAbort, { once: true });
        admit();
      }),
  };
}

const compareByRank = (one: SequenceRun, other: SequenceRun): number =>
  getPriorityRank(one.owner) - getPriorityRank(other.owner);
