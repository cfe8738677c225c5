import type { Owner } from '../../core/context.ts';
import type { ServiceError } from '../../core/error.ts';

/** Work that goes on after its request was answered. A task that nobody knows has no record. */
export type TaskStatus = 'pending' | 'running' | 'suspended' | 'succeeded' | 'failed' | 'cancelled';

export interface Task {
  readonly id: string;
  readonly status: TaskStatus;
  /** Request that began it. */
  readonly requestId: string;
  /** As asked. */
  readonly model: string;
  /** What it does: group, task and function, e.g. `embeddings`, `text-embedding`, `text-embedding`. */
  readonly service: readonly [group: string, task: string, use: string];
  readonly owner: Owner;
  /** Milliseconds since the epoch, as all three. */
  readonly submittedAt: number;
  readonly startedAt?: number;
  readonly endedAt?: number;
  /** Of a failed one. */
  readonly error?: ServiceError;
  /** Fields of its answer, in the words of the interface that began it; there may be some before its end. */
  readonly output: Readonly<Record<string, unknown>>;
  readonly usage?: Readonly<Record<string, unknown>>;
}

export interface TaskFilter {
  readonly id?: string;
  readonly status?: TaskStatus;
  readonly model?: string;
  readonly keyId?: string;
  readonly region?: string;
  /** Submitted at or after. */
  readonly from?: number;
  /** Submitted before or at. */
  readonly to?: number;
}

/** Tasks of one workspace in one region; those of others are not there. */
export interface Tasks {
  find(owner: Owner, id: string): Promise<Task | undefined>;
  /** The newest first. @param skip How many of them come before. */
  list(
    owner: Owner,
    filter: TaskFilter,
    page: { readonly skip: number; readonly take: number },
  ): Promise<{ readonly total: number; readonly tasks: readonly Task[] }>;
  /** Only what is pending can be cancelled. @returns whether it was. */
  cancel(owner: Owner, id: string): Promise<boolean>;
}

/** Of a service in which nothing makes a task. */
export const noTasks: Tasks = {
  find: async () => undefined,
  list: async () => ({ total: 0, tasks: [] }),
  cancel: async () => false,
};
