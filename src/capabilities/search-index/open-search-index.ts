import { createReplaceableCatalogue } from '../../catalogue/catalogue.ts';
import type { Config } from '../../config/config.ts';
import { listRegions } from '../../config/regions.ts';
import { ServiceError } from '../../core/error.ts';
import type { RegionId } from '../../core/region.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import type { Log } from '../../core/telemetry.ts';
import { createDocumentExtractor } from '../../documents/document-extractor.ts';
import { createInlineExtractor } from '../../documents/inline-extractor.ts';
import { systemClock } from '../../lib/clock.ts';
import { createLifecycle, openAllOrNone } from '../../lib/lifecycle.ts';
import { joinCapabilityTools, openCapabilityTools } from '../../service/open-capabilities.ts';
import type { Capability } from '../../service/capability.ts';
import { resolveEngineSettings } from '../../service/engine-settings.ts';
import { createModelEngines } from '../../service/model-engines.ts';
import { openCatalogue, openDatabase, openRuntimes, openWeights } from '../../service/open-components.ts';
import { createEmbedIndexTexts } from './embed-index-texts.ts';
import { INDEX_CLOSE_MS_MAX } from './limits.ts';
import { createSearchIndexOperator } from './operator.ts';
import { createRankIndexTexts } from './rank-index-texts.ts';
import type { SearchIndexOperator } from './search-index.ts';
import { createSearchIndex, type SearchIndex } from './search.ts';

export interface SearchIndexHandle {
  readonly operator: SearchIndexOperator;
  readonly search: SearchIndex;
  /** Configured regions. */
  readonly regions: readonly RegionId[];
  close(): Promise<void>;
}

export interface OpenSearchIndexDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  /** Logs failures that do not stop the command. */
  readonly log: Pick<Log, 'warn'>;
  /** One of them reads pages; without it, only files and folders can be added. */
  readonly capabilities: readonly Capability[];
}

const SILENT_LOG: Log = { info: () => undefined, warn: () => undefined, error: () => undefined };

/** Opens the local index for a command, with its own embedding engine and page reader: no running service is needed. */
export async function openSearchIndex(
  config: Config,
  { environment, log, capabilities }: OpenSearchIndexDeps,
): Promise<SearchIndexHandle> {
  const catalogue = createReplaceableCatalogue(await openCatalogue(config));
  const weights = openWeights(config, environment);
  const runtimes = openRuntimes(config, environment);
  const engineDeps = { catalogue, weights, runtimes, environment, log: SILENT_LOG, clock: systemClock };
  const settings = await resolveEngineSettings(config, engineDeps);
  const lifecycle = createLifecycle({ closeMsMax: INDEX_CLOSE_MS_MAX });
  const openParts = async (): Promise<SearchIndexHandle> => {
    const store = await lifecycle.open(
      'store',
      () => openDatabase(config),
      (part) => part.close(),
    );
    const engines = await lifecycle.open(
      'engines',
      () => createModelEngines({ ...engineDeps, ...settings }),
      (part) => part.close(),
    );
    const extract = createDocumentExtractor();
    const toolContext = { config, clock: systemClock, log: SILENT_LOG, store, catalogue, engines, extract };
    const tools = await openCapabilityTools(capabilities, { ...toolContext, isPrimary: true }, lifecycle);
    const { readPage = refusePages } = joinCapabilityTools(tools);
    const embed = createEmbedIndexTexts({ catalogue, engines, priority: 'background' });
    const indexDeps = { store, clock: systemClock, embed };
    return {
      operator: createSearchIndexOperator({ ...indexDeps, readPage, extract: createInlineExtractor(extract) }),
      search: createSearchIndex({ ...indexDeps, rank: createRankIndexTexts({ catalogue, engines }), log }),
      regions: listRegions(config).map(([id]) => id),
      close: () => lifecycle.closeAll(),
    };
  };
  return await openAllOrNone(lifecycle, openParts, (error) =>
    log.warn('closing the search index after a failed start failed', { error: String(error) }),
  );
}

const refusePages: ReadPage = () =>
  Promise.reject(
    new ServiceError('unsupported', 'URLs cannot be added without the page reader; add files or folders.'),
  );
