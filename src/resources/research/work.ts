import { errorCodec } from '../../core/error-codec.ts';
import { ServiceError } from '../../core/error.ts';
import { RESEARCH_ATTACH_MS, RESEARCH_STEP_CHARS_MAX, RESEARCH_STEPS_PAGE_MAX } from '../../core/limits.ts';
import type { ResearchRequest, ResearchStep } from '../../core/research.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Store } from '../../store/store.ts';
import type { JobBell } from '../jobs/job-bell.ts';
import type { RunBell } from '../responses/run-bell.ts';
import type { ResearchWork } from './research-work.ts';

export interface ResearchWorkNeeds {
  readonly store: Store;
  readonly clock: Clock;
  /** Of runs: their readers listen. */
  readonly bell: Pick<RunBell, 'ring'>;
  readonly jobBell: Pick<JobBell, 'ring'>;
}

export function createResearchWork({ store, clock, bell, jobBell }: ResearchWorkNeeds): ResearchWork {
  const unreadSince = (): number => clock.now() - RESEARCH_ATTACH_MS;

  const stepsOf = async (id: string): Promise<readonly ResearchStep[]> => {
    const steps: ResearchStep[] = [];
    for (;;) {
      const page = await store.research.steps(id, { from: steps.length, limit: RESEARCH_STEPS_PAGE_MAX });
      steps.push(...page.map((json) => JSON.parse(json) as ResearchStep));
      if (page.length < RESEARCH_STEPS_PAGE_MAX) return steps;
    }
  };

  const cancel = async (id: string, wish: { readonly unreadSince?: number } = {}): Promise<void> => {
    const isEnded = await store.transaction(async ({ research, jobs }) => {
      const at = clock.now();
      if (!(await research.end(id, { state: 'cancelled', at, ...wish }))) return false;
      const job = await jobs.findBySubject('research', id);
      if (job) await jobs.cancel(job.id, at);
      return true;
    });
    if (!isEnded) return;
    bell.ring(id, 'ended');
    jobBell.ring('cancelled');
  };

  return {
    async begin(id, attempt) {
      if (!(await store.research.begin(id, { attempt, at: clock.now() }))) return undefined;
      const run = await store.research.find(id);
      if (!run) return undefined;
      const { region, workspace, keyId, startedAt = clock.now(), body } = run;
      return {
        request: JSON.parse(body) as ResearchRequest,
        owner: { region, workspace, keyId },
        startedAt,
        past: await stepsOf(id),
      };
    },

    async append(id, { attempt, number, step, isLast }) {
      const json = JSON.stringify(step);
      if (json.length > RESEARCH_STEP_CHARS_MAX)
        throw new ServiceError('too-large', `A step of it has more than ${RESEARCH_STEP_CHARS_MAX} characters.`);
      const isKept = await store.transaction(async ({ research }) => {
        if (!(await research.append(id, { attempt, number, json }))) return false;
        if (isLast) await research.end(id, { state: 'done', at: clock.now(), attempt });
        return true;
      });
      if (isKept) bell.ring(id, isLast ? 'ended' : 'told');
      return isKept;
    },

    async standingOf(id) {
      const run = await store.research.findState(id);
      if (!run || run.endedAt !== undefined) return 'ended';
      return run.readAt < unreadSince() ? 'unread' : 'wanted';
    },

    async fail(id, failure, attempt) {
      const error = JSON.stringify(errorCodec.encode(failure));
      if (await store.research.end(id, { state: 'failed', at: clock.now(), attempt, error })) bell.ring(id, 'ended');
    },

    cancel: (id) => cancel(id),
    cancelUnread: (id) => cancel(id, { unreadSince: unreadSince() }),
    stepsOf,
  };
}
