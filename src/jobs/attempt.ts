import type { JobRecord } from '../core/job.ts';
import type { JobAttemptEnd, Log } from '../core/telemetry.ts';
import { failureText } from './failure-text.ts';
import type { JobHandler, JobOutcome } from './handler.ts';
import type { JobLease } from './job-lease.ts';
import { retryPause } from './retry-pause.ts';

export interface AttemptNeeds {
  readonly handler: JobHandler;
  readonly lease: JobLease;
  readonly log: Pick<Log, 'warn' | 'error'>;
  readonly random: () => number;
}

/** For the operator, where no attempt lived to say why. */
const ALWAYS_ENDED = 'each process that worked at it has ended';

/** Does with a claimed job what there is to do: runs it, or ends it where it was cancelled or has no try left. Never rejects. */
export async function attempt(job: JobRecord, { handler, lease, log, random }: AttemptNeeds): Promise<JobAttemptEnd> {
  const about = { job: job.id, kind: job.kind, subject: job.subject, attempt: job.attempt };

  const tryLater = (error: unknown): Promise<JobAttemptEnd> => {
    // Whatever fails while everything is being closed says nothing of the job.
    if (lease.signal.reason === 'shutdown') return lease.release({ afterMs: 0 });
    const failures = job.tries - lease.triesLeft() + 1;
    const afterMs = retryPause(failures, { random: random(), pace: handler.retry });
    log.warn('a job failed, and is tried again', { ...about, afterMs, reason: failureText(error) });
    return lease.release({ afterMs, costs: error });
  };

  const cancel = async (): Promise<JobAttemptEnd> => {
    const failure = await failureOf(async () => handler.cancel?.(job));
    return failure ? await tryLater(failure.error) : await lease.end('cancelled');
  };

  const giveUp = async (error: unknown): Promise<JobAttemptEnd> => {
    log.error('a job failed for the last time', { ...about, error });
    const failure = await failureOf(async () => handler.giveUp?.(job, error));
    return failure ? await tryLater(failure.error) : await lease.end('failed', error);
  };

  const fail = async (error: unknown): Promise<JobAttemptEnd> => {
    switch (lease.signal.reason) {
      case 'cancelled':
        return await cancel();
      case 'lost':
        return 'lost';
      case 'shutdown':
        return await lease.release({ afterMs: 0 });
      default:
        return lease.triesLeft() > 1 ? await tryLater(error) : await giveUp(error);
    }
  };

  if (lease.signal.aborted) return await fail(lease.signal.reason);
  if (job.isCancelled) return await cancel();
  if (job.triesLeft <= 0) return await giveUp(new Error(job.error ?? ALWAYS_ENDED));
  let outcome: JobOutcome;
  try {
    outcome = await handler.run({ job, signal: lease.signal, report: lease.report });
  } catch (error) {
    return await fail(error);
  }
  if (outcome.type === 'done') return await lease.end('done');
  if (lease.signal.reason === 'cancelled') return await cancel();
  return await lease.release({ afterMs: outcome.afterMs, hasMoved: true });
}

async function failureOf(work: () => Promise<unknown>): Promise<{ readonly error: unknown } | undefined> {
  try {
    await work();
    return undefined;
  } catch (error) {
    return { error };
  }
}
