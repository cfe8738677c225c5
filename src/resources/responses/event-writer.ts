import { BACKGROUND_EVENT_CHARS_MAX, BACKGROUND_WRITE_CHARS_MAX, BACKGROUND_WRITE_MS } from './limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { StartInterval } from '../../lib/start-interval.ts';
import type { ResponseEventChunk } from '../../store/response-events.ts';

export interface EventWriterOptions {
  /** Number of the first event to write. */
  readonly firstNumber: number;
  /** Total characters of the events before it. */
  readonly charsBefore: number;
  readonly startInterval: StartInterval;
  /** Stores a chunk. Calls do not overlap. Rejects if no further chunk can be written. */
  write(chunk: ResponseEventChunk): Promise<void>;
  /** Called once, with the first failure; nothing is written afterwards. */
  onFailure(error: ServiceError): void;
}

export interface EventWriter {
  /** Accepts complete events. @returns a promise to wait for before more are pushed, if the buffer is full. */
  push(events: string): Promise<void> | undefined;
  /**
   * Stops writing.
   * @returns the events that are not written yet, these last ones included.
   * @throws ServiceError the first failure.
   */
  finish(events: string): Promise<ResponseEventChunk | undefined>;
  /** Stops writing. */
  close(): void;
}

/** An SSE event ends with an empty line and contains none. */
const EVENT_END = '\n\n';

/**
 * Writes events in chunks. After a pause the first event is written at once, so that readers need not wait; later ones
 * are written a few times per second, because each write is a transaction.
 */
export function createEventWriter(options: EventWriterOptions): EventWriter {
  let { firstNumber, charsBefore: chars } = options;
  let pendingText = '';
  let isIdle = true;
  let writing: Promise<void> | undefined;
  let failure: ServiceError | undefined;

  const takeChunk = (): ResponseEventChunk | undefined => {
    if (pendingText === '') return undefined;
    const texts = pendingText
      .slice(0, -EVENT_END.length)
      .split(EVENT_END)
      .map((text) => text + EVENT_END);
    const chunk = { first: firstNumber, texts };
    firstNumber += texts.length;
    pendingText = '';
    return chunk;
  };
  const fail = (error: unknown): void => {
    if (failure) return;
    failure = ServiceError.from(error);
    options.onFailure(failure);
  };
  const write = async (): Promise<void> => {
    // Events that arrive during a write go into the next chunk.
    while (writing) await writing;
    const chunk = failure ? undefined : takeChunk();
    if (!chunk) return;
    writing = options.write(chunk).catch(fail);
    await writing;
    writing = undefined;
  };
  const close = options.startInterval(BACKGROUND_WRITE_MS, () => {
    if (pendingText === '') isIdle = true;
    else if (!writing) void write();
  });

  return {
    push(events) {
      if (events === '' || failure) return undefined;
      chars += events.length;
      if (chars > BACKGROUND_EVENT_CHARS_MAX) {
        fail(
          new ServiceError(
            'too-large',
            `The response's events have more than ${BACKGROUND_EVENT_CHARS_MAX} characters.`,
          ),
        );
        return undefined;
      }
      pendingText += events;
      const isFull = pendingText.length > BACKGROUND_WRITE_CHARS_MAX;
      if (!isIdle && !isFull) return undefined;
      isIdle = false;
      const written = write();
      return isFull ? written : undefined;
    },
    async finish(events) {
      close();
      while (writing) await writing;
      if (failure) throw failure;
      pendingText += events;
      return takeChunk();
    },
    close,
  };
}
