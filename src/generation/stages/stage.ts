/** One synchronous step between engine and wire. Holds the state of one choice of one request, and no other. */
export interface Stage<In, Out> {
  push(event: In, emit: (event: Out) => void): void;
  end(emit: (event: Out) => void): void;
}
