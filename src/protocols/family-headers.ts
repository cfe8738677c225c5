/** What is known of a call when its head goes out. */
export interface HeadFacts {
  /** Milliseconds since the epoch. */
  readonly arrivedAt: number;
  /** Arrival to head. */
  readonly elapsedMs: number;
  /** The body is there as a whole; not so for a stream. */
  readonly isComplete: boolean;
}

/** Headers that a protocol family has besides those of every answer. */
export type HeadersOf = (facts: HeadFacts) => Readonly<Record<string, string>>;
