/** Parses what a server sends for one request, streamed or not, into events. Synchronous and stateful. */
export interface ResponseParser<Event> {
  /**
   * @param json One event of the stream, or the body of an unstreamed response.
   * @throws ServiceError when the event violates the format or is an error of the server.
   */
  push(json: string, emit: (event: Event) => void): void;
  /** Returns true once everything that must arrive has arrived. */
  isComplete(): boolean;
  /** Returns true once output has followed a complete response. The response then ends, and the rest is ignored. */
  isOverrun(): boolean;
  /** @throws ServiceError when the response is incomplete, with or without an end mark. */
  end(emit: (event: Event) => void): void;
  /** Returns events that must be computed after the end of the response. Never rejects. */
  readTrailingEvents?(): Promise<readonly Event[]> | undefined;
}
