import type { Owner } from '../../core/context.ts';
import { errorCodec } from '../../core/error-codec.ts';
import { present } from '../../lib/present.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { TaskRecord } from '../../store/tasks.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import type { Task, Tasks } from './task.ts';

/** What a task says of its work, in the words of the interface that began it. */
export type TellTask = (record: TaskRecord) => Promise<Pick<Task, 'output' | 'usage'>>;

export interface TasksNeeds {
  readonly store: Pick<Store, 'tasks' | 'jobs' | 'transaction'>;
  readonly clock: Clock;
  readonly bell: Pick<JobBell, 'ring'>;
  readonly tell: TellTask;
}

export function createTasks({ store, clock, bell, tell }: TasksNeeds): Tasks {
  return {
    async find(owner, id) {
      const record = await store.tasks.find(owner, id);
      return record && { ...factsOf(record), ...(await tell(record)) };
    },
    async list(owner, { region, ...filter }, page) {
      if (region !== undefined && region !== owner.region) return { total: 0, tasks: [] };
      const { total, records } = await store.tasks.list(owner, filter, page);
      // Lists tell nothing of what tasks have done.
      return { total, tasks: records.map((record) => ({ ...factsOf(record), output: {} })) };
    },
    async cancel(owner, id) {
      const isCancelled = await store.transaction(async ({ tasks, jobs }) => {
        if (!(await tasks.cancel(owner, id, clock.now()))) return false;
        const job = await jobs.findBySubject('transcription', id);
        if (job) await jobs.cancel(job.id, clock.now());
        return true;
      });
      if (isCancelled) bell.ring('cancelled');
      return isCancelled;
    },
  };
}

function factsOf(record: TaskRecord): Omit<Task, 'output'> {
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
    ...present({
      startedAt: record.startedAt,
      endedAt: record.endedAt,
      error: record.error === undefined ? undefined : errorCodec.decode(JSON.parse(record.error)),
    }),
  };
}
