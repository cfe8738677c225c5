/** A synchronous processing step for the events of one choice of one request; it holds only that choice's state. */
export interface Stage<In, Out> {
  push(event: In, emit: (event: Out) => void): void;
  end(emit: (event: Out) => void): void;
}
