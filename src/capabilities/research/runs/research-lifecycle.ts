import type { Owner } from '../../../core/context.ts';
import { errorCodec } from '../../../core/error-codec.ts';
import { ServiceError } from '../../../core/error.ts';
import { RESEARCH_UNATTENDED_MS_MAX, RESEARCH_STEP_CHARS_MAX, RESEARCH_STEPS_PAGE_MAX } from './limits.ts';
import type { ResearchRequest, ResearchStep } from '../research.ts';
import type { Clock } from '../../../lib/clock.ts';
import type { Store } from '../../../store/store.ts';
import type { JobNotifier } from '../../../resources/jobs/job-notifier.ts';
import type { RunNotifier } from '../../../resources/responses/run-notifier.ts';
import { decodeStep, encodeStep } from './stored-step.ts';

/** A run at the start of an attempt. */
export interface ResearchAttempt {
  readonly request: ResearchRequest;
  readonly owner: Owner;
  /** UTC milliseconds; start of the first attempt. */
  readonly startedAt: number;
  /** Steps that earlier attempts stored. */
  readonly pastSteps: readonly ResearchStep[];
}

/**
 * `active`: a client reads the run. `unread`: nobody has read it for RESEARCH_UNATTENDED_MS_MAX. `ended`: final state
 * or removed.
 */
export type ResearchStatus = 'active' | 'unread' | 'ended';

/** State transitions of research runs, for the job that executes them. None changes a run that has ended. */
export interface ResearchLifecycle {
  /**
   * Starts an attempt, which supersedes older attempts.
   * @returns undefined if the run has ended or does not exist.
   */
  startAttempt(id: string, attempt: number): Promise<ResearchAttempt | undefined>;
  /**
   * Appends a step; `isLast` completes the run.
   * @returns false if the run has ended or a newer attempt exists.
   */
  append(
    id: string,
    stepInfo: {
      readonly attempt: number;
      readonly number: number;
      readonly step: ResearchStep;
      readonly isLast: boolean;
    },
  ): Promise<boolean>;
  getStatus(id: string): Promise<ResearchStatus>;
  /**
   * Ends the run with an error for its readers.
   * @param attempt Fails only if this attempt is current; undefined: always.
   */
  fail(id: string, error: ServiceError, attempt?: number): Promise<void>;
  /** Cancels the run and its job. */
  cancel(id: string): Promise<void>;
  /** Cancels the run and its job if it is still unread. */
  cancelUnread(id: string): Promise<void>;
  readSteps(id: string): Promise<readonly ResearchStep[]>;
}

export interface ResearchLifecycleDeps {
  readonly store: Store;
  readonly clock: Clock;
  /** Wakes the readers of a run. */
  readonly notifier: Pick<RunNotifier, 'notify'>;
  readonly jobNotifier: Pick<JobNotifier, 'notify'>;
}

export function createResearchLifecycle({
  store,
  clock,
  notifier,
  jobNotifier,
}: ResearchLifecycleDeps): ResearchLifecycle {
  const unreadSince = (): number => clock.now() - RESEARCH_UNATTENDED_MS_MAX;

  const readSteps = async (id: string): Promise<readonly ResearchStep[]> => {
    const steps: ResearchStep[] = [];
    for (;;) {
      const page = await store.research.listSteps(id, { from: steps.length, limit: RESEARCH_STEPS_PAGE_MAX });
      steps.push(...page.map(decodeStep));
      if (page.length < RESEARCH_STEPS_PAGE_MAX) return steps;
    }
  };

  const cancel = async (id: string, condition: { readonly unreadSince?: number } = {}): Promise<void> => {
    const isCanceled = await store.transaction(async ({ research, jobs }) => {
      const at = clock.now();
      if (!(await research.finish(id, { state: 'cancelled', at, ...condition }))) return false;
      const job = await jobs.findBySubject('research', id);
      if (job) await jobs.cancel(job.id, at);
      return true;
    });
    if (!isCanceled) return;
    notifier.notify(id, 'ended');
    jobNotifier.notify('cancelled');
  };

  return {
    async startAttempt(id, attempt) {
      if (!(await store.research.start(id, { attempt, at: clock.now() }))) return undefined;
      const run = await store.research.find(id);
      if (!run) return undefined;
      const { region, workspace, keyId, startedAt = clock.now(), body } = run;
      return {
        request: JSON.parse(body) as ResearchRequest,
        owner: { region, workspace, keyId },
        startedAt,
        pastSteps: await readSteps(id),
      };
    },

    async append(id, { attempt, number, step, isLast }) {
      const json = encodeStep(step);
      if (json.length > RESEARCH_STEP_CHARS_MAX)
        throw new ServiceError('too-large', `A research step has more than ${RESEARCH_STEP_CHARS_MAX} characters.`);
      const isStored = await store.transaction(async ({ research }) => {
        if (!(await research.appendStep(id, { attempt, number, json }))) return false;
        if (isLast) await research.finish(id, { state: 'done', at: clock.now(), attempt });
        return true;
      });
      if (isStored) notifier.notify(id, isLast ? 'ended' : 'updated');
      return isStored;
    },

    async getStatus(id) {
      const run = await store.research.findSummary(id);
      if (!run || run.endedAt !== undefined) return 'ended';
      return run.readAt < unreadSince() ? 'unread' : 'active';
    },

    async fail(id, failure, attempt) {
      const error = JSON.stringify(errorCodec.encode(failure));
      if (await store.research.finish(id, { state: 'failed', at: clock.now(), attempt, error }))
        notifier.notify(id, 'ended');
    },

    cancel: (id) => cancel(id),
    cancelUnread: (id) => cancel(id, { unreadSince: unreadSince() }),
    readSteps,
  };
}
