import { BACKGROUND_EVENT_CHARS_MAX, BACKGROUND_WRITE_CHARS_MAX, BACKGROUND_WRITE_MS } from '../../core/limits.ts';
import { ServiceError } from '../../core/error.ts';
import type { Every } from '../../lib/every.ts';
import type { EventChunk } from '../../store/response-events.ts';

export interface EventWriterNeeds {
  /** Number of the first event. */
  readonly first: number;
  /** Characters of those before it. */
  readonly charsBefore: number;
  readonly every: Every;
  /** Calls do not overlap. Rejects where nothing more can be written. */
  write(chunk: EventChunk): Promise<void>;
  /** Nothing is written any more; once. */
  onFailure(error: ServiceError): void;
}

export interface EventWriter {
  /** Whole events. What comes back, if anything, is fulfilled when there is room for more. */
  push(events: string): Promise<void> | undefined;
  /** What is not written yet, these last events included. @throws ServiceError what was written failed. */
  end(events: string): Promise<EventChunk | undefined>;
  /** Writes nothing more. */
  close(): void;
}

/** An event ends with an empty line, and has none inside. */
const EVENT_END = '\n\n';

/**
 * Writes events in chunks: the first one after a silence at once, so that its readers need not wait, the others a few times
 * per second, because each write is a transaction.
 */
export function createEventWriter(needs: EventWriterNeeds): EventWriter {
  let { first, charsBefore: chars } = needs;
  let waiting = '';
  let isQuiet = true;
  let running: Promise<void> | undefined;
  let failure: ServiceError | undefined;

  const take = (): EventChunk | undefined => {
    if (waiting === '') return undefined;
    const texts = waiting
      .slice(0, -EVENT_END.length)
      .split(EVENT_END)
      .map((text) => text + EVENT_END);
    const chunk = { first, texts };
    first += texts.length;
    waiting = '';
    return chunk;
  };
  const fail = (error: unknown): void => {
    if (failure) return;
    failure = ServiceError.from(error);
    needs.onFailure(failure);
  };
  const write = async (): Promise<void> => {
    // What comes in meanwhile waits for the next.
    while (running) await running;
    const chunk = failure ? undefined : take();
    if (!chunk) return;
    running = needs.write(chunk).catch(fail);
    await running;
    running = undefined;
  };
  const close = needs.every(BACKGROUND_WRITE_MS, () => {
    if (waiting === '') isQuiet = true;
    else if (!running) void write();
  });

  return {
    push(events) {
      if (events === '' || failure) return undefined;
      chars += events.length;
      if (chars > BACKGROUND_EVENT_CHARS_MAX) {
        fail(new ServiceError('too-large', `Its events have more than ${BACKGROUND_EVENT_CHARS_MAX} characters.`));
        return undefined;
      }
      waiting += events;
      const isFull = waiting.length > BACKGROUND_WRITE_CHARS_MAX;
      if (!isQuiet && !isFull) return undefined;
      isQuiet = false;
      const written = write();
      return isFull ? written : undefined;
    },
    async end(events) {
      close();
      while (running) await running;
      if (failure) throw failure;
      waiting += events;
      return take();
    },
    close,
  };
}
