import type { Config } from '../src/config/config.ts';
import { openSearchIndex } from '../src/service/open-search-index.ts';

const quiet = () => undefined;

/** Adds files, folders and addresses to the local index of a configuration, as `parley index add` does. */
export async function fillIndex(config: Config, sources: readonly string[]): Promise<void> {
  const log = { info: quiet, warn: quiet, error: quiet };
  const index = await openSearchIndex(config, { environment: {}, log });
  await index.operator.add({ sources }, { signal: AbortSignal.timeout(120_000) });
  await index.close();
}
