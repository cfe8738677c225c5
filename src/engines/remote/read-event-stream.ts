import type { IncomingMessage } from 'node:http';
import { UPSTREAM_CLOSE_MS } from '../limits.ts';
import type { UpstreamCall, UpstreamClient } from './upstream-client.ts';
import { createEventFrameParser, type ParsedFrames } from './event-frame-parser.ts';
import type { ResponseParser } from './response-parser.ts';

interface Waiter<Event> {
  readonly resolve: (result: IteratorResult<readonly Event[], undefined>) => void;
  readonly reject: (error: Error) => void;
}

/**
 * Reads the events of a streamed response; events that arrived together are one batch. Leaving the iteration early closes
 * the connection at once, which cancels the request at the upstream. A slow reader pauses the socket (backpressure). May
 * be read once, one batch after another.
 *
 * Written by hand and not as a generator over the response, which would cost as much per token as everything else.
 */
export function readEventStream<Event>(
  { response, timer, mapError }: UpstreamCall,
  parser: ResponseParser<Event>,
  { errors, timeouts }: Pick<UpstreamClient, 'errors' | 'timeouts'>,
): AsyncIterable<readonly Event[]> {
  const frameParser = createEventFrameParser(parser, errors);
  const queue: (readonly Event[])[] = [];
  let waiter: Waiter<Event> | undefined;
  let hasFirstEvent = false;
  /** Set when nothing more is read; `error` is delivered after the queue. */
  let closed: { readonly error?: Error } | undefined;
  /** Events that follow the end of the stream. */
  let trailing: Promise<unknown> | undefined;

  const settle = (): void => {
    if (!waiter) return;
    const { resolve, reject } = waiter;
    const value = queue.shift();
    if (value) resolve({ value, done: false });
    else if (!closed || trailing) return;
    else if (closed.error) reject(closed.error);
    else resolve({ value: undefined, done: true });
    waiter = undefined;
  };

  const finish = (error?: Error): void => {
    if (closed) return;
    closed = error ? { error } : {};
    timer.stop();
    response.off('data', onData);
    if (error) response.destroy();
    else drain(response);
  };

  const handleParsed = ({ events, isFinished, failure }: ParsedFrames<Event>): void => {
    if (events.length > 0) {
      hasFirstEvent = true;
      queue.push(events);
    }
    if (failure) finish(mapError(failure.thrown));
    else if (isFinished) {
      finish();
      trailing = parser.readTrailingEvents?.()?.then((events) => {
        trailing = undefined;
        queue.push(events);
        settle();
      });
    }
    settle();
  };

  const onData = (chunk: string): void => {
    const parsed = frameParser.push(chunk);
    handleParsed(parsed);
    if (closed) return;
    // The reader's time does not count as idle time, and a reader that is behind needs no more data.
    if (!waiter) {
      if (hasFirstEvent) timer.pause();
      if (queue.length > 0) response.pause();
    } else if (hasFirstEvent && parsed.hasWholeEvent) {
      // Comments and parts of an event are no progress: the idle limit keeps running.
      startIdleStep();
    }
  };
  const startIdleStep = (): void => timer.startStep('the next piece of the answer', timeouts.idleMs);
  const fail = (thrown: unknown): void => {
    if (closed) return;
    finish(mapError(thrown));
    settle();
  };

  response.setEncoding('utf8');
  response.on('error', fail);
  response.on('end', () => {
    if (!closed) handleParsed(frameParser.end());
  });
  // Closed without end and without error: the response is incomplete.
  response.on('close', () => {
    if (!closed) fail(Object.assign(new Error('closed'), { code: 'ECONNRESET' }));
  });

  const iterator: AsyncIterator<readonly Event[], undefined> = {
    next: () =>
      new Promise((resolve, reject) => {
        waiter = { resolve, reject };
        if (queue.length > 0 || closed) return settle();
        if (hasFirstEvent) startIdleStep();
        if (response.listenerCount('data') === 0) response.on('data', onData);
        else if (response.isPaused()) response.resume();
      }),
    async return() {
      if (!closed) {
        closed = {};
        timer.stop();
        response.off('data', onData);
        response.destroy();
      }
      return { value: undefined, done: true };
    },
  };
  return { [Symbol.asyncIterator]: () => iterator };
}

/** Reads the few bytes after the end mark, so that the connection can be reused. */
function drain(response: IncomingMessage): void {
  if (response.readableEnded || response.destroyed) return;
  const timer = setTimeout(() => response.destroy(), UPSTREAM_CLOSE_MS);
  response.once('close', () => clearTimeout(timer));
  response.resume();
}
