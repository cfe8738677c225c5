import type { Config } from '../config/config.ts';
import type { RequestContext } from '../core/context.ts';
import { systemIds } from '../core/id.ts';
import type { Research } from '../core/research.ts';
import type { Log } from '../core/telemetry.ts';
import { PRIMARY_WORKSPACE } from '../resources/keys/rules.ts';
import { createService } from './service.ts';

export interface ResearchRunner {
  readonly research: Research;
  /** Of the operator, in the one region that offers research. */
  context(signal: AbortSignal): RequestContext;
  close(): Promise<void>;
}

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Deep research for a command: all parts of the service, which listens on nothing and cleans up after nobody. */
export async function openResearchRunner(
  config: Config,
  { environment }: { readonly environment: Readonly<Record<string, string | undefined>> },
): Promise<ResearchRunner> {
  const service = await createService(config, { environment, log: SILENT, worker: 0 });
  return {
    research: service.research,
    context: (signal) => ({
      requestId: systemIds.request(),
      owner: { workspace: PRIMARY_WORKSPACE, region: 'cn-beijing', keyId: 'operator' },
      signal,
      log: { add: () => undefined, warn: () => undefined },
    }),
    close: () => service.close(),
  };
}
