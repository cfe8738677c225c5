import type { ErrorKind } from './error.ts';
import type { JobKind } from './job.ts';

/** Fields of a log line. They never hold prompts, answers, keys or tool arguments. */
export type LogFields = Readonly<Record<string, unknown>>;

/** Writes log lines: a constant message with fields. */
export interface Log {
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  /** `error`: the cause of a failure. Only its name, message and stack are written. */
  error(message: string, fields?: LogFields & { readonly error?: unknown }): void;
}

/** Labels of a deployment in the metrics. */
export interface DeploymentName {
  readonly region: string;
  readonly workspace: string;
  readonly name: string;
}

/** Measurement of one finished request for the metrics. */
export interface RequestMeasurement {
  /** An operation that the meter was created with; any other counts as `other`. */
  readonly operation: string;
  readonly status: number;
  readonly kind: ErrorKind | 'none';
  readonly durationMs: number;
  /** Time from the arrival to the first byte of the response. Absent when nothing was sent. */
  readonly firstByteMs?: number;
  readonly promptTokens?: number;
  readonly cachedTokens?: number;
  readonly completionTokens?: number;
  /** Present when the request called a deployment. */
  readonly deployment?: DeploymentName;
}

/** How an attempt left its job. `waiting`: for its next attempt. `lost`: another process took over the job. */
export type JobAttemptOutcome = 'done' | 'failed' | 'cancelled' | 'waiting' | 'lost';

/**
 * Outcome of a check of weights. `changed`: a file without a known hash has other content than before; `skipped`: a file was
 * written meanwhile; `failed`: a file could not be read.
 */
export type WeightsCheckOutcome = 'intact' | 'damaged' | 'changed' | 'skipped' | 'failed';
/** Kind of stored data that was found damaged. */
export type DamagedData = 'blob' | 'database';

export interface Meter {
  recordRequest(measurement: RequestMeasurement): void;
  /** Counts a running stream. Call the returned function once, when the stream has ended. */
  trackStream(): () => void;
  /** Counts an open websocket. Call the returned function once, when it is closed. */
  trackSocket(): () => void;
  /** Counts a running speech recognition. Call the returned function once, with the error kind. */
  trackRecognition(): (kind: ErrorKind | 'none') => void;
  /** Counts a running job attempt. Call the returned function once, with the outcome. */
  trackJob(kind: JobKind): (outcome: JobAttemptOutcome) => void;
  /** Counts a check of a model's weights in the background. */
  recordWeightsCheck(outcome: WeightsCheckOutcome): void;
  /** Counts an access that found stored data damaged. */
  recordDamage(data: DamagedData): void;
  /** Renders the metrics as text for Prometheus, with its content type. */
  renderMetrics(): Promise<{ readonly contentType: string; readonly text: string }>;
}
