/** Facts about a response that are known when its headers are sent. */
export interface ResponseHeadInfo {
  /** Arrival of the request, in milliseconds since the epoch. */
  readonly arrivedAt: number;
  /** Milliseconds from the arrival of the request to its response headers. */
  readonly elapsedMs: number;
  /** Whether the whole body is known; false for a stream. */
  readonly isComplete: boolean;
}

/** Returns the headers that a protocol family adds to those of every response. */
export type EncodeFamilyHeaders = (info: ResponseHeadInfo) => Readonly<Record<string, string>>;
