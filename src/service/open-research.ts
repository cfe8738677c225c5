import type { Config } from '../config/config.ts';
import type { Ids } from '../core/id.ts';
import type { Research, ResearchBudget, ResearchRuns } from '../core/research.ts';
import type { Log } from '../core/telemetry.ts';
import type { ResearchWriter } from '../generation/research/research.ts';
import type { JobHandlers } from '../jobs/handler.ts';
import { researchJob } from '../jobs/kinds/research.ts';
import type { Clock } from '../lib/clock.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import { stateOf } from '../resources/keys/rules.ts';
import { createResearchRuns } from '../resources/research/service.ts';
import { startResearchSweep } from '../resources/research/sweep.ts';
import { createResearchWork } from '../resources/research/work.ts';
import { createRunBell } from '../resources/responses/run-bell.ts';
import type { Store } from '../store/store.ts';

/** Of the configuration, what one run is held to. */
export const researchLimits = ({
  research: { queries, pages, tokens, minutes, writer },
}: Pick<Config, 'research'>): { readonly budget: ResearchBudget; readonly writer: ResearchWriter } => ({
  budget: { queries, pages, tokens, minutes },
  writer,
});

export interface OpenResearchNeeds {
  readonly config: Pick<Config, 'research'>;
  readonly store: Store;
  /** What a run does. */
  readonly research: Research;
  readonly jobBell: JobBell;
  readonly ids: Ids;
  readonly clock: Clock;
  readonly log: Log;
  /** Of several processes one sweeps for all. */
  readonly sweeps: boolean;
}

export interface OpenedResearch {
  readonly research: Research;
  readonly runs: ResearchRuns;
  readonly jobs: Pick<JobHandlers, 'research'>;
  close(): Promise<void>;
}

/** Deep research with all that belongs to it: runs that outlive their connection, and the work at them. */
export function openResearch(needs: OpenResearchNeeds): OpenedResearch {
  const { config, store, research, jobBell, ids, clock, log, sweeps } = needs;
  const { runsPerKey, runsPerWorkspace, minutes } = config.research;
  const bell = createRunBell();
  const work = createResearchWork({ store, clock, bell, jobBell });
  const sweeper = sweeps ? startResearchSweep({ store, work, clock, log }) : undefined;
  return {
    research,
    runs: createResearchRuns({
      store,
      clock,
      ids,
      research,
      bell,
      jobBell,
      limits: { runsPerKey, runsPerWorkspace },
    }),
    jobs: {
      research: researchJob({
        work,
        research,
        // Not by the cache of those who call: a run ends soon after its key.
        async isKeyActive(id) {
          const key = await store.keys.find(id);
          return key !== undefined && stateOf(key, clock.now()) === 'active';
        },
        clock,
        ids,
        log,
        minutes,
      }),
    },
    close: async () => sweeper?.close(),
  };
}
