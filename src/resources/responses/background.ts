import type { Owner } from '../../core/context.ts';
import type { ServiceError } from '../../core/error.ts';
import type { Turn, TurnResult, TurnRequest } from './response.ts';

/** Status of a response that has no answer. */
export type StatusChange =
  | { readonly status: 'in_progress' | 'cancelled' }
  | { readonly status: 'failed'; readonly error: ServiceError };

/** A response object with a new status, and the event that reports it. */
export interface EncodedStatusChange {
  readonly json: string;
  readonly event: string;
}

/**
 * Encodes a status change in the format of the response's API. Must be pure, because it is called inside transactions.
 * @param json The current response object.
 */
export type EncodeStatusChange = (json: string, change: StatusChange, sequence: number) => EncodedStatusChange;

export interface BackgroundRequest extends TurnRequest {
  /** JSON of the request, which the job reads later. */
  readonly body: string;
  /** The response object that clients get while the response waits. */
  readonly json: string;
  /** The first events of a streamed response; undefined for others. */
  readonly events?: readonly string[] | undefined;
}

/** A background response to be generated, for the job that generates it. */
export interface PendingRun {
  readonly id: string;
  readonly owner: Owner;
  readonly body: unknown;
  /** UTC milliseconds. */
  readonly createdAt: number;
  readonly isStreamed: boolean;
  /** A part of the answer was already sent as events; a new answer would repeat or contradict it. */
  readonly hasPartialAnswer: boolean;
}

/** A response that one process is generating. Its events become visible when they are stored. */
export interface RunningResponse {
  /** Number of the next event. */
  readonly nextSequence: number;
  /**
   * Accepts any number of complete events.
   * @returns a promise to wait for before more are emitted, if the buffer is full.
   */
  emit(events: string): Promise<void> | undefined;
  /**
   * Stops writing and returns the run's part of a `TurnResult`, including these last events.
   * @throws ServiceError the reason if the run was lost before.
   */
  finish(events: string): Promise<Omit<NonNullable<TurnResult['run']>, 'state'>>;
  /** Ends the run without an answer. Has no effect if the run has ended. */
  fail(failure: { readonly json: string; readonly events: string }): Promise<void>;
  /** Stops writing events. Call it in every case at the end. */
  close(): void;
}

/** Responses that are generated in the background. Methods with an owner serve clients; the others serve jobs. */
export interface BackgroundResponses {
  /**
   * Checks whether a turn could start, without locking the conversation.
   * @returns the history that the turn would start with.
   * @throws ServiceError as `Responses.startTurn`, including `locked`.
   */
  checkTurn(owner: Owner, request: Omit<TurnRequest, 'id'>): Promise<Pick<Turn, 'history' | 'olderItems'>>;
  /** Creates the response and its job. @throws ServiceError `rate-limited` above BACKGROUND_UNFINISHED_MAX. */
  enqueue(owner: Owner, request: BackgroundRequest): Promise<void>;
  /**
   * Cancels a response at once, even while a process generates it. A response that has ended stays as it is.
   * @returns the response object.
   * @throws ServiceError `not-found`; `unsupported` for a response that is not a background response.
   */
  cancel(owner: Owner, id: string): Promise<string>;
  /**
   * Yields all events with a number above `after`, including future ones, until the response ends.
   * @throws ServiceError `not-found`; `unsupported` if the response is not streamed; `invalid-request` if its events
   * have been removed. The iterable throws `not-found` if the response is deleted meanwhile.
   */
  tail(owner: Owner, id: string, after: number): Promise<AsyncIterable<readonly string[]>>;

  /** @returns undefined if the response does not exist or has ended. */
  findPending(id: string): Promise<PendingRun | undefined>;
  /**
   * Starts an attempt to generate the response; an earlier attempt loses it.
   * @param abort Called with the reason when the attempt loses the response or its events become too long.
   * @throws ServiceError `cancelled` if the response does not exist or has ended.
   */
  start(id: string, attempt: number, abort: (reason: ServiceError) => void): Promise<RunningResponse>;
  /**
   * Has no effect on a response that has ended.
   * @param attempt Fails only if no newer attempt exists; undefined: always.
   */
  fail(id: string, error: ServiceError, attempt?: number): Promise<void>;
  /** Cancels the response on behalf of its owner. */
  cancelRun(id: string): Promise<void>;
}
