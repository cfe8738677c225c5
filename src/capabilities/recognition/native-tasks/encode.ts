import type { Task } from '../tasks/task.ts';
import type { StoredTaskStatus } from '../../../store/tasks.ts';
import { encodeCodeAndMessage } from '../../../protocols/native/errors.ts';
import type { PageRequest } from '../../../protocols/native/page.ts';
import type { WireTaskStatus } from './schema.ts';

/** Statuses that clients know. A task id that does not exist has the status UNKNOWN. */
const TASK_STATUSES: Record<StoredTaskStatus, WireTaskStatus> = {
  pending: 'PENDING',
  running: 'RUNNING',
  suspended: 'SUSPENDED',
  succeeded: 'SUCCEEDED',
  failed: 'FAILED',
  cancelled: 'CANCELED',
};

/** Encodes the response for an id that does not exist: no error; clients stop polling at this status. */
export const encodeUnknownTask = (id: string, requestId: string): object => ({
  request_id: requestId,
  output: { task_id: id, task_status: 'UNKNOWN' },
});

/** Encodes a task with times as text; clients' constructors need both names (docs/wire/dashscope-native.md#tasks). */
export function encodeTask(task: Task, requestId: string): object {
  return {
    request_id: requestId,
    output: {
      ...task.output,
      task_id: task.id,
      task_status: TASK_STATUSES[task.status],
      submit_time: formatTime(task.submittedAt),
      ...(task.startedAt === undefined ? {} : { scheduled_time: formatTime(task.startedAt) }),
      ...(task.endedAt === undefined ? {} : { end_time: formatTime(task.endedAt) }),
      ...(task.error ? encodeCodeAndMessage(task.error) : {}),
    },
    ...(task.usage ? { usage: task.usage } : {}),
  };
}

/**
 * Encodes a list of tasks without an `output` around it, with times in milliseconds
 * (docs/wire/dashscope-native.md#tasks). Recorded traffic has `data`; the newest client reads `tasks`.
 */
export function encodeTaskList(
  { total, tasks }: { readonly total: number; readonly tasks: readonly Task[] },
  { number, size }: PageRequest,
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

/** Formats UTC milliseconds as `YYYY-MM-DD HH:MM:SS.mmm`. */
const formatTime = (ms: number): string => new Date(ms).toISOString().replace('T', ' ').replace('Z', '');
