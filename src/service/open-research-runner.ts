import type { Config } from '../config/config.ts';
import type { RequestContext } from '../core/context.ts';
import { systemIdGenerator } from '../core/id.ts';
import type { ResearchPipeline } from '../core/research.ts';
import type { Log } from '../core/telemetry.ts';
import { PRIMARY_WORKSPACE } from '../resources/keys/rules.ts';
import { checkSearchAvailable } from './check-search-available.ts';
import { openDatabase } from './open-components.ts';
import { createService } from './service.ts';

export interface ResearchRunnerDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Logs failures that do not stop the research. */
  readonly warn: Log['warn'];
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
  { environment, warn }: ResearchRunnerDeps,
): Promise<ResearchRunner> {
  const store = await openDatabase(config);
  const log: Log = { info: () => undefined, warn, error: () => undefined };
  const service = await checkSearchAvailable(config, { store, environment })
    .then(() => createService(config, { environment, store, log, worker: 0 }))
    .catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
  return {
    research: service.research,
    createContext: (signal) => ({
      requestId: systemIdGenerator.createRequestId(),
      owner: { workspace: PRIMARY_WORKSPACE, region: 'cn-beijing', keyId: 'operator' },
      signal,
      log: { add: () => undefined, warn },
    }),
    close: () => service.close(),
  };
}
