import type { Config } from '../../config/config.ts';
import type { IdGenerator } from '../../core/id.ts';
import type { ResearchPipeline, ResearchRuns } from './research.ts';
import type { Log } from '../../core/telemetry.ts';
import type { JobHandlers } from '../../jobs/handler.ts';
import { createResearchHandler } from './jobs/research-handler.ts';
import type { Clock } from '../../lib/clock.ts';
import type { JobNotifier } from '../../resources/jobs/job-notifier.ts';
import { getKeyState } from '../../resources/keys/rules.ts';
import { createResearchRuns } from './runs/service.ts';
import { startResearchCleanup } from './runs/research-cleanup.ts';
import { createResearchLifecycle } from './runs/create-research-lifecycle.ts';
import { createRunNotifier } from '../../resources/responses/run-notifier.ts';
import type { Store } from '../../store/store.ts';

export interface OpenResearchDeps {
  readonly config: Pick<Config, 'research'>;
  readonly store: Store;
  /** Executes a run. */
  readonly research: ResearchPipeline;
  readonly jobNotifier: JobNotifier;
  readonly ids: IdGenerator;
  readonly clock: Clock;
  readonly log: Log;
  /** True in the one process that does the periodic cleanup for all. */
  readonly runsCleanup: boolean;
}

export interface ResearchModule {
  readonly runs: ResearchRuns;
  readonly jobs: Pick<JobHandlers, 'research'>;
  close(): Promise<void>;
}

/** Opens everything for deep research: runs that outlive their connection, and the job handler that executes them. */
export function openResearch(deps: OpenResearchDeps): ResearchModule {
  const { config, store, research, jobNotifier, ids, clock, log, runsCleanup } = deps;
  const { runsPerKey, runsPerWorkspace, minutes } = config.research;
  const runNotifier = createRunNotifier();
  const work = createResearchLifecycle({ store, clock, notifier: runNotifier, jobNotifier });
  const cleanup = runsCleanup ? startResearchCleanup({ store, lifecycle: work, clock, log }) : undefined;
  return {
    runs: createResearchRuns({
      store,
      clock,
      ids,
      research,
      notifier: runNotifier,
      jobNotifier,
      limits: { runsPerKey, runsPerWorkspace },
    }),
    jobs: {
      research: createResearchHandler({
        lifecycle: work,
        research,
        // The store is asked directly because the key cache lags: a run must stop soon after its key is revoked.
        async isKeyActive(id) {
          const key = await store.keys.find(id);
          return key !== undefined && getKeyState(key, clock.now()) === 'active';
        },
        clock,
        ids,
        log,
        budgetMinutes: minutes,
      }),
    },
    close: async () => cleanup?.close(),
  };
}
