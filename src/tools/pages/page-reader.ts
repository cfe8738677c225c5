import { ServiceError } from '../../core/error.ts';
import {
  PAGE_READ_HEAP_MB,
  PAGE_READ_IDLE_MS,
  PAGE_READ_MS_MAX,
  PAGE_READ_RESIDENT_BYTES_MAX,
  PAGES_WAITING_MAX,
  RETRY_AFTER_SECONDS,
} from '../../core/limits.ts';
import { createTurns } from '../../lib/turns.ts';
import { unlessAborted } from '../../lib/unless-aborted.ts';
import { createPageDesk, PageLimitError } from './page-desk.ts';
import type { PageDeskOptions } from './page-desk.ts';
import type { PageAnswer, PageTask } from './page-task.ts';
import type { PageReading } from './read-markup.ts';

type TaskOf<Type extends PageTask['type']> = Omit<Extract<PageTask, { readonly type: Type }>, 'type'>;

export interface Verdict {
  readonly isAllowed: boolean;
  /** That the rules wish between two pages; 0 where they say nothing. */
  readonly delaySeconds: number;
}

/** Reads what somebody else wrote in a process of its own that may do nothing else, within limits of time and memory. */
export interface PageReader {
  /**
   * @throws ServiceError `upstream-failed` where it takes more than it may or cannot be understood, `overloaded` where too many
   * wait; the signal's reason.
   */
  read(page: TaskOf<'page'>, signal: AbortSignal): Promise<PageReading>;
  /** What a site's rules say to us of one of its addresses. @throws the same. */
  judge(rules: TaskOf<'rules'>, signal: AbortSignal): Promise<Verdict>;
  close(): Promise<void>;
}

/** A page that takes long delays other pages, but not the rules of any. */
export function createPageReader(limits: Partial<PageDeskOptions> = {}): PageReader {
  const desk = createPageDesk({
    msMax: PAGE_READ_MS_MAX,
    heapMb: PAGE_READ_HEAP_MB,
    residentBytesMax: PAGE_READ_RESIDENT_BYTES_MAX,
    idleMs: PAGE_READ_IDLE_MS,
    ...limits,
  });

  /**
   * Once more where another page may be to blame: one that filled or ended the process while rules were judged there, or one
   * before that left it with little memory.
   */
  const askTwice = async (task: PageTask): Promise<PageAnswer> => {
    try {
      return await desk.ask(task);
    } catch (error) {
      if (!(error instanceof PageLimitError) || error.limit === 'time') throw error;
      if (task.type === 'rules' || error.isAfterOthers) return await desk.ask(task);
      throw error;
    }
  };

  const inTurns = () => {
    const turns = createTurns({ atOnce: 1, waitingMax: PAGES_WAITING_MAX, refuse: tooMany });
    const ask = async (task: PageTask, signal: AbortSignal): Promise<PageAnswer> => {
      const leave = await turns.enter(signal);
      try {
        signal.throwIfAborted();
        return await askTwice(task);
      } catch (thrown) {
        signal.throwIfAborted();
        throw unreadable(thrown);
      } finally {
        leave();
      }
    };
    return (task: PageTask, signal: AbortSignal) => unlessAborted(ask(task, signal), signal);
  };
  const [askOfPage, askOfRules] = [inTurns(), inTurns()];

  return {
    async read(page, signal) {
      const answer = await askOfPage({ type: 'page', ...page }, signal);
      if (answer.type !== 'reading') throw unreadable(answer);
      return answer.reading;
    },
    async judge(rules, signal) {
      const answer = await askOfRules({ type: 'rules', ...rules }, signal);
      if (answer.type !== 'verdict') throw unreadable(answer);
      return answer;
    },
    close: () => desk.close(),
  };
}

function unreadable(cause: unknown): ServiceError {
  if (!(cause instanceof PageLimitError)) {
    return new ServiceError('upstream-failed', 'The page cannot be understood.', { cause });
  }
  const what = cause.limit === 'time' ? 'time' : 'memory';
  return new ServiceError('upstream-failed', `The page takes too much ${what} to read.`, { cause });
}

const tooMany = (): ServiceError =>
  new ServiceError('overloaded', 'Too many pages wait to be read. Please try again later.', {
    retryAfterSeconds: RETRY_AFTER_SECONDS,
  });
