import type { Owner } from '../../../core/context.ts';
import type { ServiceError } from '../../../core/error.ts';

/** State of work that continues after its request was answered. An unknown task has no record. */
export type TaskStatus = 'pending' | 'running' | 'suspended' | 'succeeded' | 'failed' | 'cancelled';

export interface Task {
  readonly id: string;
  readonly status: TaskStatus;
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

export interface TaskFilter {
  readonly id?: string;
  readonly status?: TaskStatus;
  readonly model?: string;
  readonly keyId?: string;
  readonly region?: string;
  /** Submitted at or after, UTC milliseconds. */
  readonly from?: number;
  /** Submitted at or before, UTC milliseconds. */
  readonly to?: number;
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

/** Used by a service without any feature that creates tasks. */
export const emptyTasks: Tasks = {
  find: async () => undefined,
  list: async () => ({ total: 0, tasks: [] }),
  cancel: async () => false,
};
