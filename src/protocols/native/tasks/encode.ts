import type { Task, TaskStatus } from '../../../resources/tasks/task.ts';
import { codeAndMessage } from '../errors.ts';
import type { Page } from '../page.ts';
import type { WireTaskStatus } from './schema.ts';

/** Clients know these and no others; a task that nobody knows is UNKNOWN. */
const TASK_STATUSES: Record<TaskStatus, WireTaskStatus> = {
  pending: 'PENDING',
  running: 'RUNNING',
  suspended: 'SUSPENDED',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
};

/** wire.md 10: one that nobody knows is no error; clients end their polling at this status. */
export const encodeUnknownTask = (id: string, requestId: string): object => ({
  request_id: requestId,
  output: { task_id: id, task_status: 'UNKNOWN' },
});

/** wire.md 10, task get. Both names always: the Python client's constructors need them (section 11, 21). */
export function encodeTask(task: Task, requestId: string): object {
  return {
    request_id: requestId,
    output: {
      ...task.output,
      task_id: task.id,
      task_status: TASK_STATUSES[task.status],
      submit_time: wireTime(task.submittedAt),
      ...(task.startedAt === undefined ? {} : { scheduled_time: wireTime(task.startedAt) }),
      ...(task.endedAt === undefined ? {} : { end_time: wireTime(task.endedAt) }),
      ...(task.error ? codeAndMessage(task.error) : {}),
    },
    ...(task.usage ? { usage: task.usage } : {}),
  };
}

/**
 * wire.md 10, task list: at the top level, without `output`; times in milliseconds. Recorded traffic has `data`, and the
 * newest client reads `tasks`.
 */
export function encodeTaskList(
  { total, tasks }: { readonly total: number; readonly tasks: readonly Task[] },
  { number, size }: Page,
  requestId: string,
): object {
  const entries = tasks.map(encodeEntry);
  return {
    total,
    data: entries,
    tasks: entries,
    total_page: Math.ceil(total / size),
    page_no: number,
    request_id: requestId,
    page_size: size,
  };
}

const encodeEntry = (task: Task): object => ({
  api_key_id: task.owner.keyId,
  caller_parent_id: task.owner.workspace,
  caller_uid: task.owner.workspace,
  end_time: task.endedAt ?? null,
  gmt_create: task.submittedAt,
  model_name: task.model,
  region: task.owner.region,
  request_id: task.requestId,
  start_time: task.startedAt ?? null,
  status: TASK_STATUSES[task.status],
  task_id: task.id,
  user_api_unique_key: ['apikey', 'v1', ...task.service, task.model].join(':'),
});

/** `YYYY-MM-DD HH:MM:SS.mmm`, UTC. */
const wireTime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
