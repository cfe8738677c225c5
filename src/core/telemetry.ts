import type { ErrorKind } from './error.ts';

/** Facts of a line: never prompts, answers, keys or tool arguments. */
export type Facts = Readonly<Record<string, unknown>>;

/** Constant message, facts as fields. */
export interface Log {
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  /** `error` is our side of a failure: its name, message and stack are written, and nothing else of it. */
  error(message: string, facts?: Facts & { readonly error?: unknown }): void;
}

/** One finished request, as the metrics see it. */
export interface RequestMeasure {
  /** One of the operations the meter was made for; anything else counts as `other`. */
  readonly operation: string;
  readonly status: number;
  readonly kind: ErrorKind | 'none';
  readonly durationMs: number;
  /** Arrival to the first byte of the answer; absent when none was sent. */
  readonly firstByteMs?: number;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
}

export interface Meter {
  requestEnded(measure: RequestMeasure): void;
  /** A stream began to run; call what comes back once, when it has ended. */
  streamOpened(): () => void;
  /** The text of a scrape and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
}
