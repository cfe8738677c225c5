/**
 * A piece of a conversation: a message, a call, its result, a thought. Only the interface that tells it looks inside: it is
 * kept as it was sent, so that a history replays exactly.
 */
export interface Item {
  /** Ours, also where the caller sent one: never guessable, never used twice. */
  readonly id: string;
  /** The whole item as its interface tells it, `id` included. */
  readonly json: string;
}

export interface ItemPageWish {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Id of the last item of the page before. */
  readonly after?: string | undefined;
}

export interface ItemPage {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

/** What a caller notes beside an object. A map, so that `__proto__` is a key like any other. */
export type Metadata = ReadonlyMap<string, string>;
