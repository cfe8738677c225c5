import type { ErrorKind } from './error.ts';
import type { JobKind } from './job.ts';

/** Facts of a line: never prompts, answers, keys or tool arguments. */
export type Facts = Readonly<Record<string, unknown>>;

/** Constant message, facts as fields. */
export interface Log {
  info(message: string, facts?: Facts): void;
  warn(message: string, facts?: Facts): void;
  /** `error` is our side of a failure: its name, message and stack are written, and nothing else of it. */
  error(message: string, facts?: Facts & { readonly error?: unknown }): void;
}

/** A deployment, as metrics tell them apart. */
export interface DeploymentName {
  readonly region: string;
  readonly workspace: string;
  readonly name: string;
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
  /** Present where it called one. */
  readonly deployment?: DeploymentName;
}

/** What an attempt made of its job. `waiting`: for its next turn. `lost`: it is another process's to say. */
export type JobAttemptEnd = 'done' | 'failed' | 'cancelled' | 'waiting' | 'lost';

export interface Meter {
  requestEnded(measure: RequestMeasure): void;
  /** A stream began to run; call what comes back once, when it has ended. */
  streamOpened(): () => void;
  /** A websocket was opened; call what comes back once, when it is closed. */
  socketOpened(): () => void;
  /** A recognition on a websocket began; call what comes back once, with what it failed with. */
  recognitionStarted(): (kind: ErrorKind | 'none') => void;
  /** An attempt at a job began; call what comes back once, with what became of the job. */
  jobStarted(kind: JobKind): (outcome: JobAttemptEnd) => void;
  /** The text of a scrape and its content type. */
  expose(): Promise<{ readonly contentType: string; readonly text: string }>;
}
