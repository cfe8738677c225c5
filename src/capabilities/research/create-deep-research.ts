import type { Config } from '../../config/config.ts';
import { systemIdGenerator } from '../../core/id.ts';
import type { Capability } from '../../service/capability.ts';
import { openResearch } from './open-research.ts';
import { createResearch } from './pipeline/research.ts';
import type { ResearchDeps } from './pipeline/research.ts';
import { createResearchGenerationHandler } from './protocol/endpoint.ts';
import type { ResearchPipeline } from './research.ts';

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
    const { config } = context;
    const research = pipeline ?? createResearch({ ...context, ...getRunLimits(config) });
    onOpen?.(research);
    const { runs, jobs, close } = openResearch({ ...context, research, ids: systemIdGenerator });
    const { streamPlan } = config.research;
    return {
      interfaces: ['research'],
      generationHandlers: { research: createResearchGenerationHandler({ research, runs, streamPlan }) },
      jobs,
      close,
    };
  },
});

/** Returns the limits of one run from the configuration. */
const getRunLimits = ({
  research: { queries, pages, tokens, minutes, writer },
}: Pick<Config, 'research'>): Pick<ResearchDeps, 'budget' | 'writer'> => ({
  budget: { queries, pages, tokens, minutes },
  writer,
});
