import { ServiceError } from '../core/error.ts';
import { ABORTED_USAGE_WAIT_MS_MAX, STREAM_READ_BYTES_PER_SECOND_MIN, STREAM_SLICE_CHARS } from './limits.ts';
import { truncateText } from '../lib/remove-invisible-characters.ts';
import type { StreamEncoder } from '../protocols/stream-encoder.ts';

/** The part of a response that `pumpStream` uses. */
export interface ResponseSink {
  isDestroyed(): boolean;
  /** True if the write buffer is full; 'drain' follows. */
  isFull(): boolean;
  writeHead(status: number, headers: Readonly<Record<string, string>>): unknown;
  write(text: string): boolean;
  end(text?: string): unknown;
  destroy(): unknown;
  once(event: 'drain', listener: () => void): unknown;
}

export interface PumpOptions {
  /** Aborts when the client disconnects, at the deadline and at shutdown. Its reason is a ServiceError. */
  readonly signal: AbortSignal;
  readonly keepAliveMs: number;
  /** Ms for which the stream waits for a reader that takes less than STREAM_READ_BYTES_PER_SECOND_MIN. Then it is cut. */
  readonly readerStallMs: number;
  /** Returns the time in monotonic ms. Default: the system's. */
  readonly now?: () => number;
  /** Creates the response headers. Called once, when the first bytes are sent. */
  readonly createHeaders: () => Readonly<Record<string, string>>;
}

/**
 * Encodes events and writes them to the response at the speed of the reader: pulls the next batch when the write buffer
 * has space again.
 *
 * The head is sent with the first bytes or the first keep-alive. An abort takes effect also while the source is silent
 * or the buffer is full; the source's `return` is then called at once.
 *
 * @returns the reason why the response broke off after its head; undefined if it is complete or the client
 * disconnected.
 * @throws ServiceError for a failure before the head, so that it can be sent with its own status.
 */
export async function pumpStream<Event>(
  response: ResponseSink,
  { batches, encoder }: { readonly batches: AsyncIterable<readonly Event[]>; readonly encoder: StreamEncoder<Event> },
  { signal, keepAliveMs, readerStallMs, now = () => performance.now(), createHeaders }: PumpOptions,
): Promise<ServiceError | undefined> {
  const source = batches[Symbol.asyncIterator]();
  let isOpen = false;
  let sentAt = performance.now();
  let isTooSlow = false;
  const reader = createReaderWatch({
    stallMs: readerStallMs,
    now,
    onStall: () => {
      isTooSlow = true;
      response.destroy();
    },
  });
  const send = (text: string): boolean => {
    sentAt = performance.now();
    if (isOpen) return write(text);
    isOpen = true;
    response.writeHead(200, { ...createHeaders(), 'content-type': encoder.contentType, 'cache-control': 'no-cache' });
    return write(encoder.open() + text);
  };
  const write = (text: string): boolean => {
    reader.addBytes(Buffer.byteLength(text));
    return response.write(text);
  };

  /** Sends a text in slices, so that a slow reader makes progress within a long one, and then calls `onSent`. */
  const sendSlices = (text: string, onSent: () => void): void => {
    const slice = truncateText(text, STREAM_SLICE_CHARS);
    const isLast = slice.length === text.length;
    const onTaken = (): void => (isLast ? onSent() : sendSlices(text.slice(slice.length), onSent));
    if (send(slice)) return onTaken();
    const endWait = reader.startWait();
    response.once('drain', () => {
      endWait();
      if (!isAborted) onTaken();
    });
  };

  let isAborted = false;
  let rejectFlow: ((reason: unknown) => void) | undefined;
  const onAbort = (): void => {
    isAborted = true;
    rejectFlow?.(signal.reason);
  };
  signal.addEventListener('abort', onAbort, { once: true });
  // Batches are chained by callbacks: awaiting them in a loop would create two more promises per batch.
  const flow = new Promise<void>((resolve, reject) => {
    rejectFlow = reject;
    const encode = (result: IteratorResult<readonly Event[], unknown>): void => {
      if (isAborted) return;
      if (result.done === true) return resolve();
      try {
        const text = encoder.push(result.value);
        if (text === '') pull();
        else sendSlices(text, pull);
      } catch (error) {
        reject(error);
      }
    };
    const pull = (): void => {
      if (!isAborted) source.next().then(encode, reject);
    };
    if (signal.aborted) onAbort();
    else pull();
  });

  // A single timer checks the time since the last write. Resetting a timer per batch would cost more than its encoding.
  let timer: NodeJS.Timeout | undefined;
  const keepAlive = (): void => {
    const leftMs = keepAliveMs - (performance.now() - sentAt);
    if (leftMs <= 0 && !response.isFull()) send(encoder.keepAlive());
    timer = setTimeout(keepAlive, leftMs > 0 ? leftMs : keepAliveMs).unref();
  };
  timer = setTimeout(keepAlive, keepAliveMs).unref();

  try {
    await flow;
    const last = encoder.close();
    if (isOpen) response.end(last);
    else {
      send(last);
      response.end();
    }
    return undefined;
  } catch (thrown) {
    const released = releaseSource(source);
    const error = ServiceError.from(thrown);
    // If the reader accepts nothing, the error event would keep the connection open indefinitely.
    if (isOpen && response.isFull() && signal.aborted) response.destroy();
    else if (isOpen && !response.isDestroyed()) response.end(encoder.fail(error));
    const hasReader = !response.isDestroyed();
    await released;
    if (!hasReader) return isTooSlow ? new ServiceError('cancelled', TOO_SLOW) : undefined;
    if (!isOpen) throw error;
    return error;
  } finally {
    clearTimeout(timer);
    reader.stop();
    signal.removeEventListener('abort', onAbort);
  }
}

interface ReaderWatchOptions {
  readonly stallMs: number;
  readonly now: () => number;
  readonly onStall: () => void;
}

const TOO_SLOW = 'The client read the stream too slowly.';

/**
 * Watches how fast a reader takes what waits for it. Each wait uses up time of the reader, who has `stallMs` and the time
 * in which it may read what was written since the last wait: the system takes many bytes without a wait, and holds them.
 * Calls `onStall` when no time is left.
 */
function createReaderWatch({ stallMs, now, onStall }: ReaderWatchOptions) {
  let leftMs = stallMs;
  let bytes = 0;
  let timer: NodeJS.Timeout | undefined;
  return {
    /** Counts bytes that were written. */
    addBytes(count: number): void {
      bytes += count;
    },
    /** Starts to wait for the reader. The returned function must be called when it has taken what was written. */
    startWait(): () => void {
      const startedAt = now();
      const allowedMs = leftMs + (bytes * 1000) / STREAM_READ_BYTES_PER_SECOND_MIN;
      bytes = 0;
      timer = setTimeout(onStall, allowedMs).unref();
      return () => {
        clearTimeout(timer);
        leftMs = Math.min(stallMs, allowedMs - (now() - startedAt));
      };
    },
    stop: () => clearTimeout(timer),
  };
}

/**
 * Closes a source. It may still report its usage (for the log line) while it closes, so this function waits for up to
 * ABORTED_USAGE_WAIT_MS_MAX. Errors of the source are ignored: the source reports them itself.
 */
export function releaseSource(source: AsyncIterator<unknown>): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, ABORTED_USAGE_WAIT_MS_MAX);
    const end = (): void => {
      clearTimeout(timer);
      resolve();
    };
    if (source.return) source.return().then(end, end);
    else end();
  });
}
