import type { Owner } from '../../../core/context.ts';
import { errorCodec } from '../../../core/error-codec.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Store } from '../../../store/store.ts';
import type { TaskRecord } from '../../../store/tasks.ts';
import type { JobNotifier } from '../../../resources/jobs/job-notifier.ts';
import type { Task, Tasks } from './task.ts';

/** Encodes a task's result for its reader, in the format of the API that created the task. */
export type EncodeTaskResult = (record: TaskRecord, reader: Owner) => Promise<Pick<Task, 'output' | 'usage'>>;

export interface TasksDeps {
  readonly store: Pick<Store, 'tasks' | 'jobs' | 'transaction'>;
  readonly clock: Clock;
  readonly notifier: Pick<JobNotifier, 'notify'>;
  readonly encodeResult: EncodeTaskResult;
}

export function createTasks({ store, clock, notifier, encodeResult }: TasksDeps): Tasks {
  return {
    async find(owner, id) {
      const record = await store.tasks.find(owner, id);
      return record && { ...recordToTask(record), ...(await encodeResult(record, owner)) };
    },
    async list(owner, { region, ...filter }, page) {
      if (region !== undefined && region !== owner.region) return { total: 0, tasks: [] };
      const { total, records } = await store.tasks.list(owner, filter, page);
      // Lists show no results.
      return { total, tasks: records.map((record) => ({ ...recordToTask(record), output: {} })) };
    },
    async cancel(owner, id) {
      const isCancelled = await store.transaction(async ({ tasks, jobs }) => {
        if (!(await tasks.cancel(owner, id, clock.now()))) return false;
        const job = await jobs.findBySubject('transcription', id);
        if (job) await jobs.cancel(job.id, clock.now());
        return true;
      });
      if (isCancelled) notifier.notify('cancelled');
      return isCancelled;
    },
  };
}

function recordToTask(record: TaskRecord): Omit<Task, 'output'> {
  const { region, workspace, keyId } = record;
  const owner: Owner = { region, workspace, keyId };
  const [group = '', task = '', use = ''] = record.service.split('/');
  return {
    id: record.id,
    status: record.status,
    requestId: record.requestId,
    model: record.model,
    service: [group, task, use],
    owner,
    submittedAt: record.submittedAt,
    ...omitNullish({
      startedAt: record.startedAt,
      endedAt: record.endedAt,
      error: record.error === undefined ? undefined : errorCodec.decode(JSON.parse(record.error)),
    }),
  };
}
