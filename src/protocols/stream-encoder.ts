import type { ServiceError } from '../core/error.ts';

/** A synchronous state machine from events to bytes: no I/O, no clock, no ids of its own. */
export interface StreamEncoder<Event> {
  readonly contentType: string;
  /** First bytes, before any event. */
  open(): string;
  /** '' when there is nothing to say yet. */
  push(events: readonly Event[]): string;
  /** A comment or a ping event; changes no state. */
  keepAlive(): string;
  /** The protocol's own way to break off; never its way to finish. */
  fail(error: ServiceError): string;
  /** The protocol's end mark; asserts that `end` was seen. */
  close(): string;
}
