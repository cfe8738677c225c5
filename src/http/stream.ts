import { ServiceError } from '../core/error.ts';
import { RELEASE_MS_MAX } from '../core/limits.ts';
import type { StreamEncoder } from '../protocols/stream-encoder.ts';

/** What the pump needs of a response. */
export interface Sink {
  isDestroyed(): boolean;
  /** It has no room; `drain` tells when it has. */
  isFull(): boolean;
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): boolean;
  end(text?: string): unknown;
  destroy(): unknown;
  once(event: 'drain', listener: () => void): unknown;
}

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
  let saidAt = performance.now();
  const say = (text: string): boolean => {
    saidAt = performance.now();
    if (isOpen) return response.write(text);
    isOpen = true;
    response.writeHead(200, { ...head(), 'content-type': encoder.contentType, 'cache-control': 'no-cache' });
    return response.write(encoder.open() + text);
  };

  let isLetGo = false;
  let letGo: ((reason: unknown) => void) | undefined;
  const onGone = (): void => {
    isLetGo = true;
    letGo?.(gone.reason);
  };
  gone.addEventListener('abort', onGone, { once: true });
  // Batch after batch by callbacks: awaited in a loop, each would cost two promises more.
  const flow = new Promise<void>((resolve, reject) => {
    letGo = reject;
    const take = (step: IteratorResult<readonly Event[], unknown>): void => {
      if (isLetGo) return;
      if (step.done === true) return resolve();
      try {
        const text = encoder.push(step.value);
        if (text === '' || say(text)) pull();
        else response.once('drain', pull);
      } catch (error) {
        reject(error);
      }
    };
    const pull = (): void => {
      if (!isLetGo) source.next().then(take, reject);
    };
    if (gone.aborted) onGone();
    else pull();
  });

  // One timer that looks how long nothing was said: to set it again with each batch costs more than the batch's text.
  let timer: NodeJS.Timeout | undefined;
  const keepAlive = (): void => {
    const leftMs = keepAliveMs - (performance.now() - saidAt);
    if (leftMs <= 0 && !response.isFull()) say(encoder.keepAlive());
    timer = setTimeout(keepAlive, leftMs > 0 ? leftMs : keepAliveMs).unref();
  };
  timer = setTimeout(keepAlive, keepAliveMs).unref();

  try {
    await flow;
    const last = encoder.close();
    if (isOpen) response.end(last);
    else {
      say(last);
      response.end();
    }
    return undefined;
  } catch (thrown) {
    const released = release(source);
    const error = ServiceError.from(thrown);
    // A reader that takes nothing would keep the last words, and with them the connection, for ever.
    if (isOpen && response.isFull() && gone.aborted) response.destroy();
    else if (isOpen && !response.isDestroyed()) response.end(encoder.fail(error));
    const wasHeard = !response.isDestroyed();
    await released;
    if (!wasHeard) return undefined;
    if (!isOpen) throw error;
    return error;
  } finally {
    clearTimeout(timer);
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
