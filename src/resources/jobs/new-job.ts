import type { Ids } from '../../core/id.ts';
import type { JobWish } from '../../core/job.ts';
import { JOB_PRIORITY_DEFAULT, JOB_TRIES_DEFAULT } from '../../core/limits.ts';
import type { Clock } from '../../lib/clock.ts';
import type { NewJob } from '../../store/jobs.ts';

/**
 * The row of a wish, with what it leaves open. It is inserted in the transaction that writes its subject: there is never one
 * without the other.
 */
export function newJob(wish: JobWish, { ids, clock }: { readonly ids: Ids; readonly clock: Clock }): NewJob {
  const now = clock.now();
  return {
    id: ids.sortable('job_'),
    kind: wish.kind,
    subject: wish.subject,
    owner: wish.owner,
    payload: wish.payload,
    priority: wish.priority ?? JOB_PRIORITY_DEFAULT,
    tries: wish.tries ?? JOB_TRIES_DEFAULT,
    createdAt: now,
    runAfter: wish.runAfter ?? now,
  };
}
