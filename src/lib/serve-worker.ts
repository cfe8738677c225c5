import { parentPort } from 'node:worker_threads';
import { assert } from './assert.ts';
import type { WorkerResponse } from './bounded-worker.ts';

/**
 * Makes this thread the other side of a `createBoundedWorker`.
 * @param work Processes a message. It may call `reportStart` for each part of the message; the time limit counts from
 * part 0. An exception becomes a `failed` response.
 */
export function serveWorker<Message, Result>(
  work: (message: Message, reportStart: (part: number) => void) => Result,
): void {
  assert(parentPort, 'serveWorker must run in a worker thread');
  const port = parentPort;
  const postResponse = (answer: WorkerResponse<Result>): void => port.postMessage(answer);
  port.on('message', (message: Message) => {
    try {
      postResponse({ type: 'done', result: work(message, (part) => postResponse({ type: 'started', part })) });
    } catch (error) {
      postResponse({ type: 'failed', message: String(error) });
    }
  });
}

/** Whether the stack overflowed, e.g. because a value or a schema is nested too deeply. */
export const isStackOverflow = (error: unknown): boolean =>
  error instanceof RangeError && /call stack/.test(error.message);
