import { z } from 'zod';
import type { TaskFilter } from '../tasks/task.ts';
import type { StoredTaskStatus } from '../../../store/tasks.ts';
import { omitNullish } from '../../../lib/omit-nullish.ts';
import type { RuleTexts } from '../../../protocols/parse.ts';
import { PAGE_FIELDS, PAGE_TEXTS } from '../../../protocols/native/page.ts';

const STATUSES = ['PENDING', 'RUNNING', 'SUSPENDED', 'SUCCEEDED', 'FAILED', 'CANCELED', 'UNKNOWN'] as const;

export type WireTaskStatus = (typeof STATUSES)[number];

/** A time as `YYYYMMDDhhmmss` in UTC; converted to milliseconds. */
const Time = z
  .string()
  .regex(/^\d{14}$/)
  .transform((digits) => Date.parse(digits.replace(/^(....)(..)(..)(..)(..)(..)$/, '$1-$2-$3T$4:$5:$6Z')))
  .refine(Number.isFinite);

export const TaskListQuery = z.object({
  ...PAGE_FIELDS,
  task_id: z.string().optional(),
  start_time: Time.optional(),
  end_time: Time.optional(),
  model_name: z.string().optional(),
  status: z.enum(STATUSES).optional(),
  region: z.string().optional(),
  api_key_id: z.string().optional(),
});
export type TaskListWire = z.output<typeof TaskListQuery>;

export const TASK_LIST_TEXTS: RuleTexts = {
  ...PAGE_TEXTS,
  start_time: 'start_time must be YYYYMMDDhhmmss',
  end_time: 'end_time must be YYYYMMDDhhmmss',
};

/** Task status per wire status. No task in a list has the status UNKNOWN. */
const STATUS_FILTERS: Record<WireTaskStatus, StoredTaskStatus | undefined> = {
  PENDING: 'pending',
  RUNNING: 'running',
  SUSPENDED: 'suspended',
  SUCCEEDED: 'succeeded',
  FAILED: 'failed',
  CANCELED: 'cancelled',
  UNKNOWN: undefined,
};

/** Converts the query; undefined: no task can match. */
export function decodeTaskFilter(wire: TaskListWire): TaskFilter | undefined {
  if (wire.status === 'UNKNOWN') return undefined;
  return omitNullish({
    id: wire.task_id,
    status: wire.status && STATUS_FILTERS[wire.status],
    model: wire.model_name,
    keyId: wire.api_key_id,
    region: wire.region,
    from: wire.start_time,
    to: wire.end_time,
  });
}
