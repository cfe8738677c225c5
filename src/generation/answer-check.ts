import { ServiceError } from '../core/error.ts';
import type { JsonSchema } from '../core/grammar.ts';
import {
  ANSWER_CHECK_HEAP_MB,
  ANSWER_CHECK_MS_MAX,
  ANSWER_CHECK_WAIT_MS_MAX,
  ANSWER_CHECKS_WAITING_MAX,
  RETRY_AFTER_SECONDS,
} from '../core/limits.ts';
import { createFairWorker, WorkerBusyError } from '../engines/fair-worker.ts';
import type { Asker } from '../engines/fair-worker.ts';
import { WorkerLimitError } from '../lib/bounded-worker.ts';

export interface AnswerCheck {
  /**
   * What is wrong with a whole answer; undefined when nothing is.
   * @param text JSON.
   * @throws ServiceError `engine-failed` when it takes too much to find out, `overloaded` or `rate-limited` when too many
   *   wait; the signal's reason.
   */
  problemOf(schema: JsonSchema, text: string, asker: Asker): Promise<string | undefined>;
  close(): Promise<void>;
}

/** What the worker is sent, as JSON: it knows a schema again by its text. */
export interface CheckJob {
  readonly schema: string;
  readonly text: string;
}

export interface Checked {
  readonly problem: string | undefined;
}

export interface AnswerCheckOptions {
  readonly msMax?: number;
  /** The worker's main file; ours unless a test has another. */
  readonly main?: URL;
}

/**
 * Checks answers against their schemas in a thread, with limits of time and memory: patterns may take seconds, in which
 * this process would answer nobody.
 */
export function createAnswerCheck({
  msMax = ANSWER_CHECK_MS_MAX,
  main = OWN_WORKER,
}: AnswerCheckOptions = {}): AnswerCheck {
  const worker = createFairWorker<CheckJob, Checked>({
    name: 'answers',
    main,
    msMax,
    heapMb: ANSWER_CHECK_HEAP_MB,
    placesMax: ANSWER_CHECKS_WAITING_MAX,
    waitMsMax: ANSWER_CHECK_WAIT_MS_MAX,
  });
  const failure = (error: unknown): ServiceError => {
    if (error instanceof ServiceError) return error;
    if (error instanceof WorkerBusyError)
      return new ServiceError(
        error.reason === 'key-share' ? 'rate-limited' : 'overloaded',
        'Too many answers wait to be checked against their schemas.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error },
      );
    const cost = error instanceof WorkerLimitError ? COSTS[error.limit](msMax) : 'its check failed';
    return new ServiceError('engine-failed', `The answer could not be checked against its schema: ${cost}.`, {
      cause: error,
    });
  };
  return {
    async problemOf(schema, text, asker) {
      try {
        return (await worker.ask({ schema: JSON.stringify(schema), text }, asker)).problem;
      } catch (error) {
        throw failure(error);
      }
    },
    close: () => worker.close(),
  };
}

const COSTS: Record<WorkerLimitError['limit'], (msMax: number) => string> = {
  time: (msMax) => `that takes longer than ${msMax} ms`,
  memory: () => 'that takes too much memory',
};

/** The worker's file has the extension of ours: .ts from sources, .js from dist. */
const OWN_WORKER = new URL(`./answer-check-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
