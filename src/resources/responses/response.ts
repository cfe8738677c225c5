import type { Owner } from '../../core/context.ts';
import type { Item, ItemPage, ItemPageWish } from '../../core/item.ts';
import type { EventChunk } from '../../store/response-events.ts';

/** A response as it was told last. */
export interface StoredResponse {
  readonly id: string;
  /** The whole response object, `output` included, as its interface told it. */
  readonly json: string;
}

export interface TurnWish {
  /** Of the response that is about to be made. */
  readonly id: string;
  /** At most one of the two. */
  readonly conversation?: string | undefined;
  readonly previous?: string | undefined;
}

/** What a turn leaves behind. */
export interface TurnRecord {
  readonly json: string;
  /** As the caller sent them, with ids of ours. */
  readonly input: readonly Item[];
  readonly output: readonly Item[];
  /** Whether the response can be asked for, and gone on from, later. Its conversation gets the items in any case. */
  readonly isStored: boolean;
  /** Of one that is made while nobody waits: it ends in the same transaction, with what is not told of it yet, or nothing is kept. */
  readonly run?: {
    readonly attempt: number;
    readonly state: 'completed' | 'incomplete';
    readonly events: EventChunk | undefined;
  };
}

/** One answer in the making. While it runs, its conversation takes no other one. */
export interface Turn {
  /** Of the conversation or the chain, the oldest first. */
  readonly history: readonly Item[];
  /** Older items that are there and were not read, because no prompt could hold them (HISTORY_ITEMS_MAX, HISTORY_BYTES_MAX). */
  readonly olderItems: number;
  /**
   * Keeps all of it in one transaction and lets the conversation go. A conversation that was deleted meanwhile gets nothing.
   * @throws ServiceError `conflict` when the conversation was taken over by another turn, because this one seemed dead;
   * `cancelled` when its run was ended meanwhile, or is another attempt's.
   */
  complete(record: TurnRecord): Promise<void>;
  /** Leaves nothing behind and lets the conversation go; of no effect after `complete`. Never rejects. */
  abandon(): Promise<void>;
}

/** Responses of one workspace in one region; anybody else's are not there. */
export interface Responses {
  /**
   * @throws ServiceError `not-found` naming what is not there; `locked` when a turn of the conversation is running;
   * `invalid-request` when the previous response has no answer (yet).
   */
  begin(owner: Owner, wish: TurnWish): Promise<Turn>;
  /** What a turn would begin with, without taking the conversation. @throws as `begin`, but never `locked`. */
  history(owner: Owner, wish: Omit<TurnWish, 'id'>): Promise<Pick<Turn, 'history' | 'olderItems'>>;
  /** Also one that is still being made, or ended without an answer. @throws ServiceError `not-found`. */
  find(owner: Owner, id: string): Promise<StoredResponse>;
  /** With its items, and also while it is being made. A conversation that it was made in keeps its own. @throws ServiceError `not-found`. */
  delete(owner: Owner, id: string): Promise<void>;
  /** @throws ServiceError `not-found`; `invalid-request` when `after` names no input item of it, or it has no answer. */
  listInput(owner: Owner, id: string, page: ItemPageWish): Promise<ItemPage>;
  /**
   * Items of any conversation or response of the owner's by their ids; what is not there is left out. An id counts as often
   * as it stands there.
   * @throws ServiceError `too-large` when all of them together are more than REFERRED_BYTES_MAX.
   */
  findItems(owner: Owner, ids: readonly string[]): Promise<ReadonlyMap<string, Item>>;
}
