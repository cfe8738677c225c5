import type { Owner } from '../../core/context.ts';
import type { ServiceError } from '../../core/error.ts';
import type { Turn, TurnRecord, TurnWish } from './response.ts';

/** What becomes of a response besides its answer. */
export type Change =
  | { readonly status: 'in_progress' | 'cancelled' }
  | { readonly status: 'failed'; readonly error: ServiceError };

/** A response's object in its new state, and the event that tells of it. */
export interface ToldChange {
  readonly json: string;
  readonly event: string;
}

/** In the words of its interface. Pure: it is called inside transactions. @param json Of the response as it was told last. */
export type TellChange = (json: string, change: Change, sequence: number) => ToldChange;

export interface BackgroundWish extends TurnWish {
  /** JSON of what was asked: it is read again when its turn comes. */
  readonly body: string;
  /** The response object, as it is told while it waits. */
  readonly json: string;
  /** The first events of one that is streamed; undefined for one that is not. */
  readonly events?: readonly string[] | undefined;
}

/** One that is to be made, for whoever makes it. */
export interface WaitingRun {
  readonly id: string;
  readonly owner: Owner;
  readonly body: unknown;
  /** UTC milliseconds. */
  readonly createdAt: number;
  readonly isStreamed: boolean;
  /** Something of the answer was told: what is made now would say it again, and otherwise. */
  readonly isBroken: boolean;
}

/** One that is being made, by one process. Its events are told when they are stored. */
export interface RunningResponse {
  /** Number of the event that is told next. */
  readonly nextSequence: number;
  /** Whole events, any number of them. What comes back, if anything, is fulfilled when there is room for more. */
  tell(events: string): Promise<void> | undefined;
  /**
   * What `Turn.complete` keeps with the turn, these last events included.
   * @throws ServiceError why it was lost before, if it was.
   */
  end(events: string): Promise<Omit<NonNullable<TurnRecord['run']>, 'state'>>;
  /** It ends without an answer. Of no effect where it is over already. */
  fail(told: { readonly json: string; readonly events: string }): Promise<void>;
  /** Tells nothing more; to be called in the end, whatever that was. */
  close(): void;
}

/** Responses that are made while nobody waits. Of one owner, as all responses; those without one are for their jobs. */
export interface BackgroundResponses {
  /** What a turn would begin with. @throws ServiceError as `Responses.begin`, also `locked`; it takes nothing. */
  look(owner: Owner, wish: Omit<TurnWish, 'id'>): Promise<Pick<Turn, 'history' | 'olderItems'>>;
  /** With its job. @throws ServiceError `rate-limited` beyond BACKGROUND_UNFINISHED_MAX. */
  enqueue(owner: Owner, wish: BackgroundWish): Promise<void>;
  /**
   * At once, whoever makes it; one that has ended stays as it is. @returns the response object.
   * @throws ServiceError `not-found`; `unsupported` for one that somebody waited for.
   */
  cancel(owner: Owner, id: string): Promise<string>;
  /**
   * Its events behind this number, also those that are still to come, until its end. Every reader has the same.
   * @throws ServiceError `not-found`; `unsupported` for one that was not streamed; `invalid-request` when they are gone.
   * While it is read: `not-found` when the response was deleted.
   */
  tail(owner: Owner, id: string, after: number): Promise<AsyncIterable<readonly string[]>>;

  /** Undefined where it is not there or has ended. */
  findWaiting(id: string): Promise<WaitingRun | undefined>;
  /**
   * It is being made from here on, and an earlier attempt is not any more.
   * @param abort Called with the reason when it is lost: ended by somebody, or too long.
   * @throws ServiceError `cancelled` when there is nothing to be made.
   */
  begin(id: string, attempt: number, abort: (reason: ServiceError) => void): Promise<RunningResponse>;
  /** @param attempt Whose failure it is; undefined: anybody's. Of no effect on one that has ended. */
  fail(id: string, error: ServiceError, attempt?: number): Promise<void>;
  /** As its owner would. */
  cancelWaiting(id: string): Promise<void>;
}
