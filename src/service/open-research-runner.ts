import type { Config } from '../config/config.ts';
import type { RequestContext } from '../core/context.ts';
import { systemIds } from '../core/id.ts';
import type { Research } from '../core/research.ts';
import type { Log } from '../core/telemetry.ts';
import { PRIMARY_WORKSPACE } from '../resources/keys/rules.ts';
import { checkSearchable } from './check-searchable.ts';
import { openDatabase } from './parts.ts';
import { createService } from './service.ts';

export interface ResearchRunnerNeeds {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of what goes wrong meanwhile and ends nothing. */
  readonly warn: Log['warn'];
}

export interface ResearchRunner {
  readonly research: Research;
  /** Of the operator, in the one region that offers research. */
  context(signal: AbortSignal): RequestContext;
  close(): Promise<void>;
}

/**
 * Deep research for a command: all parts of the service, which listens on nothing and cleans up after nobody.
 * @throws ServiceError `not-found` where there is nothing to search in.
 */
export async function openResearchRunner(
  config: Config,
  { environment, warn }: ResearchRunnerNeeds,
): Promise<ResearchRunner> {
  const store = await openDatabase(config);
  const log: Log = { info: () => undefined, warn, error: () => undefined };
  const service = await checkSearchable(config, { store, environment })
    .then(() => createService(config, { environment, store, log, worker: 0 }))
    .catch(async (error: unknown) => {
      await store.close();
      throw error;
    });
  return {
    research: service.research,
    context: (signal) => ({
      requestId: systemIds.request(),
      owner: { workspace: PRIMARY_WORKSPACE, region: 'cn-beijing', keyId: 'operator' },
      signal,
      log: { add: () => undefined, warn },
    }),
    close: () => service.close(),
  };
}
