import type { Owner } from '../../../core/context.ts';
import type { ServiceError } from '../../../core/error.ts';
import type { StoredTaskStatus, TaskRecordFilter } from '../../../store/tasks.ts';

export interface Task {
  readonly id: string;
  readonly status: StoredTaskStatus;
  /** Id of the request that created the task. */
  readonly requestId: string;
  /** The model name that the client sent. */
  readonly model: string;
  /** Group, task and function, e.g. `embeddings`, `text-embedding`, `text-embedding`. */
  readonly service: readonly [group: string, task: string, use: string];
  readonly owner: Owner;
  /** UTC milliseconds, as `startedAt` and `endedAt`. */
  readonly submittedAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Set if the task failed. */
  readonly error?: ServiceError;
  /** Response fields in the format of the API that created the task; some may exist before the task ends. */
  readonly output: Readonly<Record<string, unknown>>;
  readonly usage?: Readonly<Record<string, unknown>>;
}

export interface TaskFilter extends TaskRecordFilter {
  readonly region?: string | undefined;
}

/** Tasks of one workspace in one region; an id of another workspace or region is not found. */
export interface Tasks {
  find(owner: Owner, id: string): Promise<Task | undefined>;
  /** Lists the newest first. `total` counts all matching tasks. */
  list(
    owner: Owner,
    filter: TaskFilter,
    page: { readonly skip: number; readonly take: number },
  ): Promise<{ readonly total: number; readonly tasks: readonly Task[] }>;
  /** Cancels a pending task. @returns false for any other task. */
  cancel(owner: Owner, id: string): Promise<boolean>;
}
