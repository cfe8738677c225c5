import type { IdGenerator } from '../../core/id.ts';
import type { JobRequest } from '../../core/job.ts';
import { JOB_PRIORITY_DEFAULT, JOB_ATTEMPTS_DEFAULT } from '../limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { NewJob } from '../../store/jobs.ts';

/**
 * Builds the row of a requested job and fills in the defaults. The caller inserts it in the transaction that writes the
 * job's subject, so that neither exists without the other.
 */
export function createJob(
  request: JobRequest,
  { ids, clock }: { readonly ids: IdGenerator; readonly clock: Clock },
): NewJob {
  const now = clock.now();
  return {
    id: ids.createSortableId('job_'),
    kind: request.kind,
    subject: request.subject,
    owner: request.owner,
    payload: request.payload,
    priority: request.priority ?? JOB_PRIORITY_DEFAULT,
    attemptsMax: request.attemptsMax ?? JOB_ATTEMPTS_DEFAULT,
    createdAt: now,
    runAfter: request.runAfter ?? now,
  };
}
