import { assert } from './assert.ts';

/**
 * A queue with one reader, which receives all waiting items as one batch. A slow reader thus gets bigger batches
 * instead of more iterations.
 */
export interface BatchQueue<T> extends AsyncIterable<readonly T[]> {
  /** @returns false when the items that wait have a size of at least `waitingMax`. The producer should then pause until `onDrain` is called. */
  push(item: T): boolean;
  /** Ends the queue. The reader receives the waiting items, then `done`. */
  end(): void;
  /** Fails the queue. The reader receives the waiting items, then the rejection. Later calls have no effect. */
  fail(error: unknown): void;
}

export interface BatchQueueOptions<T> {
  /** Size of all waiting items from which `push` returns false. */
  waitingMax: number;
  /** Returns the size of an item. Default: 1. */
  getSize?: (item: T) => number;
  /** Called once each time the reader empties a queue that was full. */
  onDrain?: () => void;
  /** Called when the reader stops before the end. */
  onReaderLeft?: () => void;
}

export function createBatchQueue<T>({
  waitingMax,
  getSize = () => 1,
  onDrain,
  onReaderLeft,
}: BatchQueueOptions<T>): BatchQueue<T> {
  let waiting: T[] = [];
  let waitingSize = 0;
  let finished = false;
  let failure: { error: unknown } | undefined;
  let isFull = false;
  let hasReader = false;
  let resolveWait: (() => void) | undefined;

  const wakeReader = (): void => {
    resolveWait?.();
    resolveWait = undefined;
  };

  const next = async (): Promise<IteratorResult<readonly T[], undefined>> => {
    for (;;) {
      if (waiting.length > 0) {
        const value = waiting;
        waiting = [];
        waitingSize = 0;
        if (isFull) {
          isFull = false;
          onDrain?.();
        }
        return { done: false, value };
      }
      if (failure) throw failure.error;
      if (finished) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        resolveWait = resolve;
      });
    }
  };

  return {
    push(item) {
      if (finished || failure) return true; // the reader has left, or the producer has ended the queue
      waiting.push(item);
      waitingSize += getSize(item);
      wakeReader();
      if (waitingSize < waitingMax) return true;
      isFull = true;
      return false;
    },
    end() {
      finished = true;
      wakeReader();
    },
    fail(error) {
      if (!finished) failure ??= { error };
      wakeReader();
    },
    [Symbol.asyncIterator]() {
      assert(!hasReader, 'a batch queue has one reader');
      hasReader = true;
      return {
        next,
        return() {
          const wasRunning = !finished && !failure;
          finished = true;
          waiting = [];
          wakeReader();
          if (wasRunning) onReaderLeft?.();
          return Promise.resolve({ done: true, value: undefined });
        },
      };
    },
  };
}
