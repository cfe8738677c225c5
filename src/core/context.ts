import type { Message } from './message.ts';
import type { RegionId } from './region.ts';

/** Tenant and key of a request. Everything that is stored, cached or queued belongs to one owner. */
export interface Owner {
  readonly workspace: string;
  readonly region: RegionId;
  readonly keyId: string;
}

/** Tenant that owns data: a workspace in a region. */
export type Tenant = Pick<Owner, 'region' | 'workspace'>;

/**
 * `background`: no client waits, so the work runs after all other work. `reserved`: capacity was reserved for the
 * work, so it runs before all other work; the code that assigns it keeps the amount within the reservation.
 */
export const PRIORITIES = ['reserved', 'live', 'background'] as const;

export type Priority = (typeof PRIORITIES)[number];

/** Collects fields for the one log line of a request. Never receives prompts, answers or keys. */
export interface RequestLog {
  /** Adds fields to the line that is written when the request ends. */
  add(fields: Readonly<Record<string, string | number | boolean | undefined>>): void;
  /** Logs a server-side problem that the caller does not see. */
  warn(message: string, fields?: Readonly<Record<string, unknown>>): void;
}

/** The images that a request names by URL, for all of its model runs. */
export interface RequestImages {
  /**
   * Returns the messages with a `data:` URL for each image. Each URL is fetched once.
   * @throws ServiceError `invalid-request`, naming the message, for an image that cannot be fetched and for too many URLs;
   *   `overloaded` if the images of running requests take too much memory; the signal's reason.
   */
  inline(messages: readonly Message[], signal: AbortSignal): Promise<readonly Message[]>;
  /** Releases the memory that the images count for. Later calls have no effect. */
  release(): void;
}

/** Context of one request. It is the last parameter of every function that works for a request. */
export interface RequestContext {
  readonly requestId: string;
  readonly owner: Owner;
  /** Default: `live`. */
  readonly priority?: Priority;
  /** Aborts when the client disconnects (where the endpoint requires that), at the deadline, and at shutdown. */
  readonly signal: AbortSignal;
  readonly log: RequestLog;
  /** Absent: a model run opens its own. */
  readonly images?: RequestImages;
}
