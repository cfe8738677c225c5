import { createReplaceableCatalogue } from '../catalogue/catalogue.ts';
import type { Config } from '../config/config.ts';
import type { Log } from '../core/telemetry.ts';
import { createExtract } from '../documents/extract.ts';
import { createQuickExtract } from '../documents/extract-quickly.ts';
import { systemClock } from '../lib/clock.ts';
import { createSearchIndexOperator } from '../resources/search-index/operator.ts';
import type { SearchIndexOperator } from '../resources/search-index/search-index.ts';
import { createSearchIndex, type SearchIndex } from '../resources/search-index/search.ts';
import { engineSettingsOf } from './engine-settings.ts';
import { createIndexVectors } from './index-vectors.ts';
import { createModelEngines } from './model-engines.ts';
import { openSearch } from './open-search.ts';
import { openCatalogue, openDatabase, openRuntimes, openWeights } from './parts.ts';

export interface OpenedSearchIndex {
  readonly operator: SearchIndexOperator;
  readonly search: SearchIndex;
  close(): Promise<void>;
}

export interface OpenSearchIndexNeeds {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Of what goes wrong meanwhile and ends nothing. */
  readonly log: Pick<Log, 'warn'>;
}

const SILENT: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** The local index for a command, with an engine of its own for vectors and its own way to pages: no running service is needed. */
export async function openSearchIndex(
  config: Config,
  { environment, log }: OpenSearchIndexNeeds,
): Promise<OpenedSearchIndex> {
  const catalogue = createReplaceableCatalogue(await openCatalogue(config));
  const weights = openWeights(config, environment);
  const runtimes = openRuntimes(config, environment);
  const needs = { catalogue, weights, runtimes, environment, log: SILENT, clock: systemClock };
  const settings = await engineSettingsOf(config, needs);
  const store = await openDatabase(config);
  const engines = createModelEngines({ ...needs, ...settings });
  const extract = createExtract();
  // Nothing is searched by it: that providers lack their keys is no matter here.
  const pages = openSearch({ config, environment, extract, clock: systemClock, log: SILENT });
  const parts = {
    store,
    clock: systemClock,
    embed: createIndexVectors({ catalogue, engines, priority: 'background' }),
  };
  return {
    operator: createSearchIndexOperator({ ...parts, readPage: pages.readPage, extract: createQuickExtract(extract) }),
    search: createSearchIndex({ ...parts, log }),
    async close() {
      await pages.close();
      await engines.close();
      await store.close();
    },
  };
}
