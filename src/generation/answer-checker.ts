import { ServiceError } from '../core/error.ts';
import type { JsonSchema } from '../core/grammar.ts';
import { RETRY_AFTER_SECONDS } from '../core/limits.ts';
import {
  ANSWER_CHECK_HEAP_MB,
  ANSWER_CHECK_MS_MAX,
  ANSWER_CHECK_WAIT_MS_MAX,
  ANSWER_CHECK_QUEUE_MAX,
} from './limits.ts';
import { createFairWorker, WorkerBusyError, type Caller } from '../engines/fair-worker.ts';
import { WorkerLimitError } from '../lib/bounded-worker.ts';

export interface AnswerChecker {
  /**
   * Describes what is wrong with a complete answer; undefined when it matches its schema.
   * @param text JSON.
   * @throws ServiceError `engine-failed` when the check exceeds its limits, `overloaded` or `rate-limited` when too
   *   many checks wait; the signal's reason when it aborts.
   */
  findProblem(schema: JsonSchema, text: string, caller: Caller): Promise<string | undefined>;
  close(): Promise<void>;
}

/** A check for the worker. The schema is JSON text, by which the worker caches the compiled check. */
export interface AnswerCheckJob {
  readonly schema: string;
  readonly text: string;
}

export interface AnswerCheckResult {
  readonly problem: string | undefined;
}

export interface AnswerCheckerOptions {
  readonly msMax?: number;
  /** Entry file of the worker thread; tests set another one. */
  readonly workerFile?: URL;
}

/**
 * Checks answers against their schemas in a worker thread with limits of time and memory: a pattern may take seconds,
 * which would block this process for all requests.
 */
export function createAnswerChecker({
  msMax = ANSWER_CHECK_MS_MAX,
  workerFile = WORKER_FILE,
}: AnswerCheckerOptions = {}): AnswerChecker {
  const worker = createFairWorker<AnswerCheckJob, AnswerCheckResult>({
    name: 'answers',
    entryUrl: workerFile,
    msMax,
    heapMb: ANSWER_CHECK_HEAP_MB,
    queueLengthMax: ANSWER_CHECK_QUEUE_MAX,
    queueWaitMsMax: ANSWER_CHECK_WAIT_MS_MAX,
  });
  const toServiceError = (error: unknown): ServiceError => {
    if (error instanceof ServiceError) return error;
    if (error instanceof WorkerBusyError)
      return new ServiceError(
        error.reason === 'key-share' ? 'rate-limited' : 'overloaded',
        'Too many answers wait for the check against their schemas. Try again later.',
        { retryAfterSeconds: RETRY_AFTER_SECONDS, cause: error },
      );
    const reason = error instanceof WorkerLimitError ? LIMIT_REASONS[error.limit](msMax) : 'its check failed';
    return new ServiceError('engine-failed', `The answer could not be checked against its schema: ${reason}.`, {
      cause: error,
    });
  };
  return {
    async findProblem(schema, text, caller) {
      try {
        return (await worker.run({ schema: JSON.stringify(schema), text }, caller)).problem;
      } catch (error) {
        throw toServiceError(error);
      }
    },
    close: () => worker.close(),
  };
}

const LIMIT_REASONS: Record<WorkerLimitError['limit'], (msMax: number) => string> = {
  time: (msMax) => `that takes longer than ${msMax} ms`,
  memory: () => 'that takes too much memory',
};

/** The worker's file has the extension of this one: .ts when run from sources, .js in dist. */
const WORKER_FILE = new URL(`./answer-check-worker${import.meta.url.endsWith('.ts') ? '.ts' : '.js'}`, import.meta.url);
