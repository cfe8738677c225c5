import type { ServerResponse } from 'node:http';
import { ServiceError } from '../core/error.ts';
import { RELEASE_MS_MAX } from '../core/limits.ts';
import type { StreamEncoder } from '../protocols/stream-encoder.ts';

/** What the pump needs of a response. */
export type Sink = Pick<ServerResponse, 'destroyed' | 'writableNeedDrain'> & {
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): boolean;
  end(text?: string): unknown;
  destroy(): unknown;
  once(event: 'drain', listener: () => void): unknown;
};

export interface PumpOptions {
  /** Aborts when the peer leaves, at the deadline and at shutdown; its reason is a ServiceError. */
  readonly gone: AbortSignal;
  readonly keepAliveMs: number;
  /** Headers of the answer, asked for once, when the first bytes go out. */
  readonly head: () => Readonly<Record<string, string>>;
}

/**
 * Events to bytes to the socket, at the reader's pace: the next batch is pulled when the socket has room again.
 *
 * The head goes out with the first bytes or the first keep-alive. `gone` is heard also while the source is silent or the
 * socket full; the source's `return` is then called at once.
 *
 * @returns why the answer broke off after its head; undefined when it is complete or nobody was there to hear.
 * @throws ServiceError what failed before the head: the caller answers with a real status.
 */
export async function pump<Event>(
  response: Sink,
  { batches, encoder }: { readonly batches: AsyncIterable<readonly Event[]>; readonly encoder: StreamEncoder<Event> },
  { gone, keepAliveMs, head }: PumpOptions,
): Promise<ServiceError | undefined> {
  const source = batches[Symbol.asyncIterator]();
  let isOpen = false;
  const say = (text: string): boolean => {
    if (isOpen) return response.write(text);
    isOpen = true;
    response.writeHead(200, { ...head(), 'content-type': encoder.contentType, 'cache-control': 'no-cache' });
    return response.write(encoder.open() + text);
  };

  // One listener for the whole stream: it lets go of whatever is waited for at the moment. (A race against one promise
  // per stream would collect a reaction per batch.)
  let letGo: ((reason: unknown) => void) | undefined;
  const onGone = (): void => letGo?.(gone.reason);
  gone.addEventListener('abort', onGone, { once: true });
  const next = (): Promise<IteratorResult<readonly Event[], unknown>> =>
    new Promise((resolve, reject) => {
      letGo = reject;
      if (gone.aborted) reject(ServiceError.from(gone.reason));
      else source.next().then(resolve, reject);
    });
  const drained = (): Promise<void> =>
    new Promise((resolve, reject) => {
      letGo = reject;
      if (gone.aborted) reject(ServiceError.from(gone.reason));
      else response.once('drain', resolve);
    });

  const keepAlive = (): void => {
    if (!response.writableNeedDrain) say(encoder.keepAlive());
  };
  const timer = setInterval(keepAlive, keepAliveMs).unref();

  try {
    for (;;) {
      const step = await next();
      if (step.done === true) break;
      const text = encoder.push(step.value);
      if (text === '') continue;
      timer.refresh();
      if (!say(text)) await drained();
    }
    say(encoder.close());
    response.end();
    return undefined;
  } catch (thrown) {
    const released = release(source);
    const error = ServiceError.from(thrown);
    // A reader that takes nothing would keep the last words, and with them the connection, for ever.
    if (isOpen && response.writableNeedDrain && gone.aborted) response.destroy();
    else if (isOpen && !response.destroyed) response.end(encoder.fail(error));
    const wasHeard = !response.destroyed;
    await released;
    if (!wasHeard) return undefined;
    if (!isOpen) throw error;
    return error;
  } finally {
    clearInterval(timer);
    gone.removeEventListener('abort', onGone);
  }
}

/**
 * Lets go of a source. What it still has to tell (usage, for the log line) it tells while it winds up, so that is waited
 * for, but not for long; what goes wrong meanwhile is its own to tell.
 */
export function release(source: AsyncIterator<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, RELEASE_MS_MAX);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (source.return) source.return().then(end, end);
    else end();
  });
}
