import type { Tenant } from '../../core/context.ts';
import { createTenantKey } from '../../core/tenant-key.ts';
import { ServiceError } from '../../core/error.ts';
import { RETRY_AFTER_SECONDS } from '../../core/limits.ts';
import {
  PAGE_READ_HEAP_MB,
  PAGE_READ_IDLE_MS,
  PAGE_READ_MS_MAX,
  PAGE_READ_RESIDENT_BYTES_MAX,
  PAGES_WAITING_MAX,
} from './limits.ts';
import { createSemaphore } from '../../lib/semaphore.ts';
import { createSharedSemaphore } from '../../lib/shared-semaphore.ts';
import { raceWithAbort } from '../../lib/race-with-abort.ts';
import { createPageProcessClient, PageLimitError } from './page-process-client.ts';
import type { PageProcessOptions } from './page-process-client.ts';
import type { PageTaskResult, PageTask } from './page-task.ts';
import type { PageContent } from './extract-html-page.ts';

type TaskInput<Type extends PageTask['type']> = Omit<Extract<PageTask, { readonly type: Type }>, 'type'>;

export interface RobotsDecision {
  readonly isAllowed: boolean;
  /** Crawl delay between two pages; 0 if the rules contain none. */
  readonly delaySeconds: number;
}

export interface PageReadOptions {
  /** Tenant that the page is read for. Tenants take turns. */
  readonly tenant: Tenant;
  readonly signal: AbortSignal;
}

/** Parses untrusted pages and robots rules in a restricted process, within limits of time and memory. */
export interface PageReader {
  /**
   * @throws ServiceError `upstream-failed` if the page exceeds a limit or cannot be parsed, `overloaded` if too many
   * tasks wait; the signal's reason.
   */
  read(page: TaskInput<'page'>, options: PageReadOptions): Promise<PageContent>;
  /** Evaluates the robots rules of a site for one of its URLs. @throws as `read`. */
  evaluateRobots(rules: TaskInput<'rules'>, signal: AbortSignal): Promise<RobotsDecision>;
  close(): Promise<void>;
}

/** Creates a reader with separate queues: a slow page delays other pages, but no robots rules. */
export function createPageReader(limits: Partial<PageProcessOptions> = {}): PageReader {
  const client = createPageProcessClient({
    cpuMsMax: PAGE_READ_MS_MAX,
    heapMb: PAGE_READ_HEAP_MB,
    residentBytesMax: PAGE_READ_RESIDENT_BYTES_MAX,
    idleMs: PAGE_READ_IDLE_MS,
    ...limits,
  });

  /**
   * Retries a task once if another page may have caused the failure: one that filled or ended the process while it
   * evaluated rules, or an earlier one that left it with little memory.
   */
  const runWithRetry = async (task: PageTask): Promise<PageTaskResult> => {
    try {
      return await client.runTask(task);
    } catch (error) {
      if (!(error instanceof PageLimitError) || error.limit === 'time') throw error;
      if (task.type === 'rules' || error.hadEarlierPages) return await client.runTask(task);
      throw error;
    }
  };

  const createQueue = <Options extends { readonly signal: AbortSignal }>(
    acquire: (options: Options) => Promise<() => void>,
  ) => {
    const run = async (task: PageTask, options: Options): Promise<PageTaskResult> => {
      const { signal } = options;
      const release = await acquire(options);
      try {
        signal.throwIfAborted();
        return await runWithRetry(task);
      } catch (thrown) {
        signal.throwIfAborted();
        throw toReadError(thrown);
      } finally {
        release();
      }
    };
    return (task: PageTask, options: Options) => raceWithAbort(run(task, options), options.signal);
  };
  const queueOptions = { permits: 1, queueLengthMax: PAGES_WAITING_MAX, createQueueFullError };
  const pages = createSharedSemaphore({ ...queueOptions, permitsPerHolder: 1 });
  const runPageTask = createQueue(({ tenant, signal }: PageReadOptions) =>
    pages.acquire(createTenantKey(tenant), signal),
  );
  // Rules are small, and cached for all tenants.
  const rules = createSemaphore(queueOptions);
  const runRobotsTask = createQueue(({ signal }) => rules.acquire(signal));

  return {
    async read(page, options) {
      const answer = await runPageTask({ type: 'page', ...page }, options);
      if (answer.type !== 'content') throw toReadError(answer);
      return answer.content;
    },
    async evaluateRobots(rulesTask, signal) {
      const answer = await runRobotsTask({ type: 'rules', ...rulesTask }, { signal });
      if (answer.type !== 'decision') throw toReadError(answer);
      return answer;
    },
    close: () => client.close(),
  };
}

function toReadError(cause: unknown): ServiceError {
  if (!(cause instanceof PageLimitError)) {
    return new ServiceError('upstream-failed', 'The page cannot be parsed.', { cause });
  }
  const resource = cause.limit === 'time' ? 'time' : 'memory';
  return new ServiceError('upstream-failed', `The page takes too much ${resource} to read.`, { cause });
}

const createQueueFullError = (): ServiceError =>
  new ServiceError('overloaded', 'Too many pages are waiting to be read. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
