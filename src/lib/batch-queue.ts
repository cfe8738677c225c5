import { assert } from './assert.ts';

/**
 * A single-reader queue that hands over everything that waits as one batch.
 *
 * A slow reader gets bigger batches, not more turns. `push` returns false when at least `waitingMax` items wait:
 * the producer should pause until `onDrain` is called.
 */
export interface BatchQueue<T> extends AsyncIterable<readonly T[]> {
  push(item: T): boolean;
  /** The regular end: the reader gets what waits, then `done`. */
  end(): void;
  /** The reader gets what waits, then the rejection. */
  fail(error: unknown): void;
}

export interface BatchQueueOptions {
  /** Items that may wait before `push` says false. */
  waitingMax: number;
  /** Called once per fill-up, when the reader has emptied the queue again. */
  onDrain?: () => void;
  /** Called when the reader stops before the end. */
  onReturn?: () => void;
}

export function createBatchQueue<T>({ waitingMax, onDrain, onReturn }: BatchQueueOptions): BatchQueue<T> {
  let waiting: T[] = [];
  let finished = false;
  let failure: { error: unknown } | undefined;
  let isFull = false;
  let isTaken = false;
  let wake: (() => void) | undefined;

  const stir = (): void => {
    wake?.();
    wake = undefined;
  };

  const next = async (): Promise<IteratorResult<readonly T[], undefined>> => {
    for (;;) {
      if (waiting.length > 0) {
        const value = waiting;
        waiting = [];
        if (isFull) {
          isFull = false;
          onDrain?.();
        }
        return { done: false, value };
      }
      if (failure) throw failure.error;
      if (finished) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        wake = resolve;
      });
    }
  };

  return {
    push(item) {
      if (finished || failure) return true; // the reader has left, or the producer said its last word
      waiting.push(item);
      stir();
      if (waiting.length < waitingMax) return true;
      isFull = true;
      return false;
    },
    end() {
      finished = true;
      stir();
    },
    fail(error) {
      if (!finished) failure ??= { error };
      stir();
    },
    [Symbol.asyncIterator]() {
      assert(!isTaken, 'a batch queue has one reader');
      isTaken = true;
      return {
        next,
        return() {
          const wasRunning = !finished && !failure;
          finished = true;
          waiting = [];
          stir();
          if (wasRunning) onReturn?.();
          return Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}
