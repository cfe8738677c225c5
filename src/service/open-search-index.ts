import { createReplaceableCatalogue } from '../catalogue/catalogue.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import { createDocumentExtractor } from '../documents/document-extractor.ts';
import { createInlineExtractor } from '../documents/inline-extractor.ts';
import { systemClock } from '../lib/clock.ts';
import { createSearchIndexOperator } from '../resources/search-index/operator.ts';
import type { SearchIndexOperator } from '../resources/search-index/search-index.ts';
import { createSearchIndex, type SearchIndex } from '../resources/search-index/search.ts';
import { resolveEngineSettings } from './engine-settings.ts';
import { createEmbedIndexTexts } from './embed-index-texts.ts';
import { createModelEngines } from './model-engines.ts';
import { openSearch } from './open-search.ts';
import { openCatalogue, openDatabase, openRuntimes, openWeights } from './open-components.ts';

export interface SearchIndexHandle {
  readonly operator: SearchIndexOperator;
  readonly search: SearchIndex;
  close(): Promise<void>;
}

export interface OpenSearchIndexDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Logs failures that do not stop the command. */
  readonly log: Pick<Log, 'warn'>;
}

const SILENT_LOG: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Opens the local index for a command, with its own embedding engine and page reader: no running service is needed. */
export async function openSearchIndex(
  config: Config,
  { environment, log }: OpenSearchIndexDeps,
): Promise<SearchIndexHandle> {
  const catalogue = createReplaceableCatalogue(await openCatalogue(config));
  const weights = openWeights(config, environment);
  const runtimes = openRuntimes(config, environment);
  const engineDeps = { catalogue, weights, runtimes, environment, log: SILENT_LOG, clock: systemClock };
  const settings = await resolveEngineSettings(config, engineDeps);
  const store = await openDatabase(config);
  const engines = createModelEngines({ ...engineDeps, ...settings });
  const extract = createDocumentExtractor();
  // Only its page reader is used, so missing API keys of providers need no warning.
  const pages = openSearch({ config, environment, extract, clock: systemClock, log: SILENT_LOG });
  const indexDeps = {
    store,
    clock: systemClock,
    embed: createEmbedIndexTexts({ catalogue, engines, priority: 'background' }),
  };
  return {
    operator: createSearchIndexOperator({
      ...indexDeps,
      readPage: pages.readPage,
      extract: createInlineExtractor(extract),
    }),
    search: createSearchIndex({ ...indexDeps, log }),
    async close() {
      await pages.close();
      await engines.close();
      await store.close();
    },
  };
}
