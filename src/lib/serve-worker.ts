import { parentPort } from 'node:worker_threads';
import { assert } from './assert.ts';
import type { WorkerAnswer } from './bounded-worker.ts';

/**
 * Makes this thread the other side of a `createBoundedWorker`.
 * @param work May say which part of the message it begins; the time counts from part 0. What it throws is a fault.
 */
export function serveWorker<Message, Result>(work: (message: Message, begin: (part: number) => void) => Result): void {
  assert(parentPort, 'this is the main file of a thread');
  const port = parentPort;
  const say = (answer: WorkerAnswer<Result>): void => port.postMessage(answer);
  port.on('message', (message: Message) => {
    try {
      say({ type: 'done', result: work(message, (part) => say({ type: 'begun', part })) });
    } catch (error) {
      say({ type: 'fault', message: String(error) });
    }
  });
}

/** Values and schemas may be deeper than the stack. */
export const isStackOverflow = (error: unknown): boolean =>
  error instanceof RangeError && /call stack/.test(error.message);
