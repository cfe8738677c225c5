import type { IncomingMessage } from 'node:http';
import { UPSTREAM_TAIL_MS } from '../../core/limits.ts';
import type { Call, Connection } from './connection.ts';
import { createEventFrames } from './event-frames.ts';
import type { Taken } from './event-frames.ts';

/** Makes events of what a server sends, streamed or whole. Synchronous; holds the state of one request. */
export interface Answer<Event> {
  /**
   * @param json One event of the stream, or the body of an unstreamed answer.
   * @throws ServiceError when it is not what the format says, or an error of the server's own.
   */
  push(json: string, emit: (event: Event) => void): void;
  /** All that must come has come. */
  isComplete(): boolean;
  /** @throws ServiceError when the answer is not complete: with or without an end mark, it broke off. */
  end(emit: (event: Event) => void): void;
  /** Of an answer that ended: what could not be told at once. Never rejects. */
  late?(): Promise<readonly Event[]> | undefined;
}

interface Waiter<Event> {
  readonly resolve: (result: IteratorResult<readonly Event[], undefined>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * The events of a streamed answer; what arrived together is one batch. Leaving early closes the connection at once,
 * which is how the upstream hears of it; a slow reader stops the reading, and with it the upstream. May be read once, one
 * batch after another.
 *
 * By hand and not as a generator over the response: that would cost as much for each token as all the rest.
 */
export function eventStream<Event>(
  { response, watch, why }: Call,
  answer: Answer<Event>,
  { faults, timeouts }: Pick<Connection, 'faults' | 'timeouts'>,
): AsyncIterable<readonly Event[]> {
  const frames = createEventFrames(answer, faults);
  const waiting: (readonly Event[])[] = [];
  let waiter: Waiter<Event> | undefined;
  let isSpeaking = false;
  /** Nothing more is read; `error` is told after what waits. */
  let close: { readonly error?: Error } | undefined;
  /** Comes after the end. */
  let late: Promise<unknown> | undefined;

  const settle = (): void => {
    if (!waiter) return;
    const { resolve, reject } = waiter;
    const value = waiting.shift();
    if (value) resolve({ value, done: false });
    else if (!close || late) return;
    else if (close.error) reject(close.error);
    else resolve({ value: undefined, done: true });
    waiter = undefined;
  };

  const finish = (error?: Error): void => {
    if (close) return;
    close = error ? { error } : {};
    watch.rest();
    response.off('data', onData);
    if (error) response.destroy();
    else drain(response);
  };

  const hear = ({ batch, isOver, failure }: Taken<Event>): void => {
    if (batch.length > 0) {
      isSpeaking = true;
      waiting.push(batch);
    }
    if (failure) finish(why(failure.thrown));
    else if (isOver) {
      finish();
      late = answer.late?.()?.then((events) => {
        late = undefined;
        waiting.push(events);
        settle();
      });
    }
    settle();
  };

  const onData = (piece: string): void => {
    hear(frames.push(piece));
    if (close) return;
    // The reader's time is its own, and what it has not taken is enough.
    if (!waiter) {
      if (isSpeaking) watch.hold();
      if (waiting.length > 0) response.pause();
    } else if (isSpeaking) watch.begin('the next piece of the answer', timeouts.idleMs);
  };
  const fail = (thrown: unknown): void => {
    if (close) return;
    finish(why(thrown));
    settle();
  };

  response.setEncoding('utf8');
  response.on('error', fail);
  response.on('end', () => {
    if (!close) hear(frames.end());
  });
  // Without an end or an error before it: nobody on the other side said that this was all.
  response.on('close', () => {
    if (!close) fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
  });

  const iterator: AsyncIterator<readonly Event[], undefined> = {
    next: () =>
      new Promise((resolve, reject) => {
        waiter = { resolve, reject };
        if (waiting.length > 0 || close) return settle();
        if (isSpeaking) watch.begin('the next piece of the answer', timeouts.idleMs);
        if (response.listenerCount('data') === 0) response.on('data', onData);
        else if (response.isPaused()) response.resume();
      }),
    async return() {
      if (!close) {
        close = {};
        watch.rest();
        response.off('data', onData);
        response.destroy();
      }
      return { value: undefined, done: true };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Reads the few bytes after the end mark, so that the connection can be used again. */
function drain(response: IncomingMessage): void {
  if (response.readableEnded || response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), UPSTREAM_TAIL_MS);
  response.once('close', () => clearTimeout(timer));
  response.resume();
}
