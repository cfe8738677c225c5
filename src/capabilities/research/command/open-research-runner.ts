import type { Config } from '../../../config/config.ts';
import type { RequestContext } from '../../../core/context.ts';
import { systemIdGenerator } from '../../../core/id.ts';
import type { ResearchPipeline } from '../research.ts';
import type { Log } from '../../../core/telemetry.ts';
import { PRIMARY_WORKSPACE } from '../../../resources/keys/rules.ts';
import { assert } from '../../../lib/assert.ts';
import type { Capability } from '../../../service/capability.ts';
import { createDeepResearch } from '../create-deep-research.ts';
import { checkSearchAvailable, getFirstRegion } from './check-search-available.ts';
import { openDatabase } from '../../../service/open-components.ts';
import { createService } from '../../../service/service.ts';

export interface ResearchRunnerDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Logs failures that do not stop the research. */
  readonly warn: Log['warn'];
  /** All capabilities; search and page reading come from them. */
  readonly capabilities: readonly Capability[];
}

export interface ResearchRunner {
  readonly research: ResearchPipeline;
  /** Creates the request context of the operator, in the only region that offers research. */
  createContext(signal: AbortSignal): RequestContext;
  close(): Promise<void>;
}

/**
 * Opens deep research for a command: the whole service without listeners and without periodic cleanup.
 * @throws ServiceError `not-found` when no search source is available.
 */
export async function openResearchRunner(
  config: Config,
  { environment, warn, capabilities: all }: ResearchRunnerDeps,
): Promise<ResearchRunner> {
  const store = await openDatabase(config);
  const log: Log = { info: () => undefined, warn, error: () => undefined };
  let research: ResearchPipeline | undefined;
  const deepResearch = createDeepResearch({ onOpen: (pipeline) => (research = pipeline) });
  const capabilities = [...all.filter(({ name }) => name !== deepResearch.name), deepResearch];
  const service = await checkSearchAvailable(config, { store, environment })
    .then(() => createService(config, { environment, store, log, worker: 0, capabilities }))
    .catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
  assert(research, 'the service opens every capability');
  return {
    research,
    createContext: (signal) => ({
      requestId: systemIdGenerator.createRequestId(),
      owner: { workspace: PRIMARY_WORKSPACE, region: getFirstRegion(config), keyId: 'operator' },
      signal,
      log: { add: () => undefined, warn },
    }),
    close: () => service.close(),
  };
}
