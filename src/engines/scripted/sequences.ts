import { abortReason } from '../abort-reason.ts';
import { rankOf } from '../priority.ts';
import type { EngineOwner } from '../engine.ts';

/** So many runs at a time: those that go before others set these aside, as in the embedded engine. */
export interface Sequences {
  /** @throws the signal's reason. */
  take(owner: EngineOwner, signal: AbortSignal): Promise<Sequence>;
}

/** A run's own. */
export interface Sequence {
  /** Undefined while the run may go on; else resolves when it may again, or its signal aborts. */
  held(signal: AbortSignal): Promise<void> | undefined;
  release(): void;
}

interface Run {
  readonly owner: EngineOwner;
  /** Gives it its sequence, for the first time or again. */
  begin: () => void;
  isAside: boolean;
}

export function createSequences(count: number): Sequences {
  /** With a sequence or set aside, in the order of their beginning. */
  const begun = new Set<Run>();
  const waiting = new Set<Run>();

  const busy = (): readonly Run[] => [...begun].filter(({ isAside }) => !isAside);

  /** Whose turn it is: of those that go first, the ones that were set aside, then those that have not begun. */
  const next = (): Run | undefined => [...[...begun].filter(({ isAside }) => isAside), ...waiting].toSorted(byRank)[0];

  /** Who gives its sequence up for a run: of those that go last, the one that began last. */
  const lastBehind = (run: Run): Run | undefined =>
    busy()
      .toReversed()
      .toSorted((one, other) => byRank(other, one))
      .find((other) => byRank(run, other) < 0);

  const admit = (): void => {
    for (let run = next(); run; run = next()) {
      if (busy().length >= count) {
        const other = lastBehind(run);
        if (!other) return;
        other.isAside = true;
      }
      waiting.delete(run);
      begun.add(run);
      run.isAside = false;
      run.begin();
    }
  };

  const sequenceOf = (run: Run): Sequence => ({
    held(signal) {
      if (!run.isAside || signal.aborted) return undefined;
      return new Promise((resolve) => {
        run.begin = resolve;
        signal.addEventListener('abort', () => resolve(), { once: true });
      });
    },
    release() {
      begun.delete(run);
      admit();
    },
  });

  return {
    take: (owner, signal) =>
      new Promise((resolve, reject) => {
        const run: Run = {
          owner,
          isAside: false,
          begin() {
            signal.removeEventListener('abort', onAbort);
            run.begin = () => undefined;
            resolve(sequenceOf(run));
          },
        };
        const onAbort = (): void => {
          waiting.delete(run);
          reject(abortReason(signal));
        };
        waiting.add(run);
        signal.addEventListener('abort', onAbort, { once: true });
        admit();
      }),
  };
}

const byRank = (one: Run, other: Run): number => rankOf(one.owner) - rankOf(other.owner);
