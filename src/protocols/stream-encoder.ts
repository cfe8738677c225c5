import type { ServiceError } from '../core/error.ts';

/** Synchronous state machine that turns events into text. It does no I/O, reads no clock and creates no ids. */
export interface StreamEncoder<Event> {
  readonly contentType: string;
  /** Returns the text before the first event. */
  open(): string;
  /** Returns the text of some events; '' while there is nothing to send yet. */
  push(events: readonly Event[]): string;
  /** Returns a comment or ping event that keeps the connection open; does not change the state. */
  keepAlive(): string;
  /** Returns the protocol's error event. The stream has no regular end after it. */
  fail(error: ServiceError): string;
  /** Returns the protocol's end mark. @throws ServiceError `engine-failed` if no `end` event was pushed. */
  close(): string;
}
