import type { Capability, CapabilityContext } from '../../service/capability.ts';
import { systemIdGenerator } from '../../core/id.ts';
import { createRunNotifier } from '../../resources/responses/run-notifier.ts';
import { getKeyState } from '../../resources/keys/rules.ts';
import { createResearchHandler } from './jobs/research-handler.ts';
import { createResearch } from './pipeline/research.ts';
import { createResearchGenerationHandler } from './protocol/endpoint.ts';
import type { ResearchPipeline } from './research.ts';
import { createResearchLifecycle } from './runs/research-lifecycle.ts';
import { startResearchCleanup } from './runs/research-cleanup.ts';
import { createResearchRuns } from './runs/service.ts';

export interface DeepResearchOptions {
  /** Replaces the pipeline that executes runs. */
  readonly pipeline?: ResearchPipeline;
  /** Receives the pipeline of each service that opens this capability. */
  readonly onOpen?: (pipeline: ResearchPipeline) => void;
}

/** Creates deep research as a capability: the requests to research models, and the jobs that execute them. */
export const createDeepResearch = ({ pipeline, onOpen }: DeepResearchOptions = {}): Capability => ({
  name: 'research',
  open(context) {
    const { streamPlan, writer, ...budget } = context.config.research;
    const research = pipeline ?? createResearch({ ...context, budget, writer });
    onOpen?.(research);
    const { runs, jobs, close } = openResearch(context, research);
    return {
      interfaces: ['research'],
      generationHandlers: { research: createResearchGenerationHandler({ research, runs, streamPlan }) },
      jobs,
      close,
    };
  },
});

type OpenResearchContext = Pick<CapabilityContext, 'store' | 'jobNotifier' | 'clock' | 'log' | 'runsCleanup'> & {
  readonly config: Pick<CapabilityContext['config'], 'research'>;
};

/** Opens everything for deep research: runs that outlive their connection, and the job handler that executes them. */
export function openResearch(
  { config, store, jobNotifier, clock, log, runsCleanup }: OpenResearchContext,
  research: ResearchPipeline,
) {
  const { runsPerKey, runsPerWorkspace, minutes } = config.research;
  const ids = systemIdGenerator;
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
