import { assert } from '../../lib/assert.ts';
import { abortReason } from '../abort-reason.ts';
import { waitMsOf } from '../priority.ts';
import type { EngineOwner } from '../engine.ts';
import { createFairQueue } from '../fair-queue.ts';
import type { Refusal } from './protocol.ts';
import { RefusedError } from './refused-error.ts';

/** A part of some work. It ends early when `isOver` says so: nobody waits for its result then. */
export type Task<T> = (isOver: () => boolean) => Promise<T>;

/** Work that is made of short tasks, of which one runs at a time. */
export interface Turns {
  /**
   * The results of all tasks. Between two of them it is somebody else's turn.
   * @throws RefusedError when there is no place or it waits too long for the first turn; the signal's reason when that
   *   aborts; whatever a task throws.
   */
  run<T>(owner: EngineOwner, tasks: readonly Task<T>[], signal: AbortSignal): Promise<readonly T[]>;
}

export interface TurnsOptions {
  readonly placesMax: number;
  /** From arrival to the first turn, of a live request. */
  readonly waitMsMax: number;
}

/** Ours: after a refusal for want of room, a new try makes sense after this long. */
const RETRY_AFTER_SECONDS = 5;

/** Somebody's work, as the queue sees it. */
interface Work {
  readonly owner: EngineOwner;
  /** Runs the next task. */
  step(): Promise<void>;
  /** Whether a task would be left when the next one is done. */
  hasMore(): boolean;
  fail(error: unknown): void;
}

/** In turn by workspace, then by key, then by arrival; background work when nobody else waits. */
export function createTurns({ placesMax, waitMsMax }: TurnsOptions): Turns {
  const queue = createFairQueue<Work>({ placesMax });
  let isRunning = false;

  const go = async (): Promise<void> => {
    if (isRunning) return;
    isRunning = true;
    for (let work = queue.peek(); work; work = queue.peek()) {
      queue.take();
      // What follows waits behind others; the place it had is free.
      if (work.hasMore()) queue.add(work.owner, work);
      try {
        await work.step();
      } catch (error) {
        queue.remove(work);
        work.fail(error);
      }
    }
    isRunning = false;
  };

  return {
    run: <T>(owner: EngineOwner, tasks: readonly Task<T>[], signal: AbortSignal) =>
      new Promise<readonly T[]>((resolve, reject) => {
        const results: T[] = [];
        let isOver = false;
        const end = (settle: () => void): void => {
          isOver = true;
          clearTimeout(waitTimer);
          signal.removeEventListener('abort', onAbort);
          settle();
        };
        const work: Work = {
          owner,
          hasMore: () => results.length + 1 < tasks.length,
          async step() {
            clearTimeout(waitTimer);
            const task = tasks[results.length];
            assert(task, 'work without a task left waits in no queue');
            const result = await task(() => isOver);
            if (isOver) return;
            results.push(result);
            if (results.length === tasks.length) end(() => resolve(results));
          },
          fail: (error) => end(() => reject(error)),
        };
        const leave = (error: unknown): void => {
          queue.remove(work);
          work.fail(error);
        };
        const refuse = (kind: Refusal['kind'], message: string): void =>
          leave(new RefusedError({ kind, message, retryAfterSeconds: RETRY_AFTER_SECONDS }));
        const onAbort = (): void => leave(abortReason(signal));
        const waitMs = waitMsOf(owner, waitMsMax);
        const waitTimer = setTimeout(
          () => refuse('queue-wait', `the turn of this request did not come within ${waitMs} ms`),
          waitMs,
        );
        signal.addEventListener('abort', onAbort, { once: true });
        if (signal.aborted) return onAbort();
        const verdict = queue.add(owner, work);
        if (verdict === 'full') return refuse('queue-full', `all ${placesMax} places of the queue are taken`);
        if (verdict === 'key-share') return refuse('key-share', 'this key already holds its share of the queue');
        void go();
      }),
  };
}
