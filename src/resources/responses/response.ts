import type { Owner } from '../../core/context.ts';
import type { Item, ItemPage, ItemPageQuery } from '../../core/item.ts';
import type { ResponseEventChunk } from '../../store/response-events.ts';

/** The current state of a response. */
export interface StoredResponse {
  readonly id: string;
  /** The complete response object, `output` included, as its API encodes it. */
  readonly json: string;
}

export interface TurnRequest {
  /** Id of the response to create. */
  readonly id: string;
  /** At most one of `conversation` and `previous` (a response id) is set. */
  readonly conversation?: string | undefined;
  readonly previous?: string | undefined;
}

/** Everything that a finished turn stores. */
export interface TurnResult {
  readonly json: string;
  /** The client's items, with ids assigned by Parley. */
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** Whether the response can be retrieved and continued later. Its conversation gets the items in any case. */
  readonly isStored: boolean;
  /**
   * For a background response: ends its run in the same transaction, with its last events; if that fails, nothing is
   * stored.
   */
  readonly run?: {
    readonly attempt: number;
    readonly state: 'completed' | 'incomplete';
    readonly events: ResponseEventChunk | undefined;
  };
}

/** A conversation turn in progress. While it runs, its conversation accepts no other turn. */
export interface Turn {
  /** Items of the conversation or the chain, oldest first. */
  readonly history: readonly Item[];
  /**
   * Number of older items that were not read because no prompt could hold them (HISTORY_ITEMS_MAX, HISTORY_BYTES_MAX).
   */
  readonly olderItems: number;
  /**
   * Stores the result in one transaction and unlocks the conversation. A conversation that was deleted meanwhile gets
   * nothing.
   * @throws ServiceError `conflict` if another turn took the conversation over after this one's lease expired;
   *   `cancelled` if its run has ended or belongs to a newer attempt.
   */
  complete(result: TurnResult): Promise<void>;
  /** Discards the turn and unlocks the conversation; has no effect after `complete`. Never rejects. */
  abandon(): Promise<void>;
}

/** Responses of one workspace in one region; an id of another workspace or region is not found. */
export interface Responses {
  /**
   * Starts a turn and locks its conversation.
   * @throws ServiceError `not-found` that names what is missing; `locked` while another turn of the conversation runs;
   *   `invalid-request` if the previous response has no answer.
   */
  startTurn(owner: Owner, request: TurnRequest): Promise<Turn>;
  /** Reads the history that a turn would start with, without locking. @throws as `startTurn`, except `locked`. */
  readHistory(owner: Owner, request: Omit<TurnRequest, 'id'>): Promise<Pick<Turn, 'history' | 'olderItems'>>;
  /** Also finds a response that is being generated or ended without an answer. @throws ServiceError `not-found`. */
  find(owner: Owner, id: string): Promise<StoredResponse>;
  /**
   * Deletes a response with its items, even while it is being generated. Items in its conversation stay.
   * @throws ServiceError `not-found`.
   */
  delete(owner: Owner, id: string): Promise<void>;
  /** @throws ServiceError `not-found`; `invalid-request` if `after` names no input item of it, or it has no answer. */
  listInput(owner: Owner, id: string, page: ItemPageQuery): Promise<ItemPage>;
  /**
   * Finds items of any of the owner's conversations and responses by id; unknown ids are left out. An id that is given
   * several times counts several times.
   * @throws ServiceError `too-large` if all items together exceed REFERENCED_ITEM_BYTES_MAX.
   */
  findItems(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
}
