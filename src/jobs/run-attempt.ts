import type { JobRecord } from '../core/job.ts';
import type { JobAttemptOutcome, Log } from '../core/telemetry.ts';
import { formatFailure } from './format-failure.ts';
import type { JobHandler, JobOutcome } from './handler.ts';
import type { JobLease } from './job-lease.ts';
import { computeRetryDelayMs } from './retry-delay.ts';

export interface AttemptDeps {
  readonly handler: JobHandler;
  readonly lease: JobLease;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly random: () => number;
}

/** Error text for the operator if no attempt survived to report one. */
const ALL_PROCESSES_DIED = 'every process that ran the job died';

/** Runs a claimed job; only ends the job if it was canceled or has no attempt left. Never rejects. */
export async function runAttempt(
  job: JobRecord,
  { handler, lease, log, random }: AttemptDeps,
): Promise<JobAttemptOutcome> {
  const logFields = { job: job.id, kind: job.kind, subject: job.subject, attempt: job.attempt };

  const retryLater = (error: unknown): Promise<JobAttemptOutcome> => {
    // During shutdown, failures say nothing about the job.
    if (lease.signal.reason === 'shutdown') return lease.release({ delayMs: 0 });
    const failures = job.attemptsMax - lease.getAttemptsLeft() + 1;
    const delayMs = computeRetryDelayMs(failures, { random: random(), backoff: handler.backoff });
    log.warn('job failed and will be retried', { ...logFields, delayMs, reason: formatFailure(error) });
    return lease.release({ delayMs: delayMs, failure: error });
  };

  const cancel = async (): Promise<JobAttemptOutcome> => {
    const failure = await catchFailure(async () => handler.cancel?.(job));
    return failure ? await retryLater(failure.error) : await lease.finish('cancelled');
  };

  const giveUp = async (error: unknown): Promise<JobAttemptOutcome> => {
    log.error('job failed and has no attempt left', { ...logFields, error });
    const failure = await catchFailure(async () => handler.giveUp?.(job, error));
    return failure ? await retryLater(failure.error) : await lease.finish('failed', error);
  };

  const fail = async (error: unknown): Promise<JobAttemptOutcome> => {
    switch (lease.signal.reason) {
      case 'cancelled':
        return await cancel();
      case 'lost':
        return 'lost';
      case 'shutdown':
        return await lease.release({ delayMs: 0 });
      default:
        return lease.getAttemptsLeft() > 1 ? await retryLater(error) : await giveUp(error);
    }
  };

  if (lease.signal.aborted) return await fail(lease.signal.reason);
  if (job.isCancelled) return await cancel();
  if (job.attemptsLeft <= 0) return await giveUp(new Error(job.error ?? ALL_PROCESSES_DIED));
  let outcome: JobOutcome;
  try {
    outcome = await handler.run({ job, signal: lease.signal, report: lease.report });
  } catch (error) {
    return await fail(error);
  }
  if (outcome.type === 'done') return await lease.finish('done');
  if (lease.signal.reason === 'cancelled') return await cancel();
  return await lease.release({ delayMs: outcome.delayMs, hasAdvanced: true });
}

async function catchFailure(work: () => Promise<unknown>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { error };
  }
}
