/**
 * A piece of a conversation: a message, a tool call, its result, or reasoning. Only the protocol that created it
 * interprets its JSON. Unknown fields are stored too, so that a history can be replayed exactly.
 */
export interface Item {
  /** Created by Parley, even when the caller sent an id: not guessable, never reused. */
  readonly id: string;
  /** The whole item in the format of its protocol, including `id`. */
  readonly json: string;
}

export interface ItemPageQuery {
  readonly limit: number;
  readonly order: 'asc' | 'desc';
  /** Id of the last item of the previous page. */
  readonly after?: string | undefined;
}

export interface ItemPage {
  readonly items: readonly Item[];
  readonly hasMore: boolean;
}

/** Key-value pairs that a caller attaches to an object. A map, so that `__proto__` is an ordinary key. */
export type Metadata = ReadonlyMap<string, string>;
