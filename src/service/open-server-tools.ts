import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { ResolvedModel } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { systemIdGenerator } from '../core/id.ts';
import type { HasSearchContent, ReadPage, Search } from '../core/server-tools.ts';
import type { DocumentExtractor } from '../documents/document-extractor.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import type { CountPrompt } from '../generation/count-prompt.ts';
import type { Generate } from '../generation/generation.ts';
import { createExamineRequest, type ExamineRequest } from '../generation/server-tools/examine-request.ts';
import { createGenerateWithServerTools } from '../generation/server-tools/generate-with-server-tools.ts';
import { DOWNLOADS_PATH } from '../resources/files/signed-links.ts';
import { createHasSearchContent, createSearch } from '../tools/search/search.ts';
import { createCallerFiles } from './caller-files.ts';
import { joinCapabilityTools, openCapabilityTools } from './open-capabilities.ts';
import { createSearchProviders } from './create-search-providers.ts';
import type { EnginesModule } from './open-engines.ts';
import type { FilesModule } from './open-files.ts';
import { NOTHING_TO_SEARCH, type ToolReport } from './readiness.ts';
import type { ServiceContext } from './service-context.ts';

interface ServerToolsDeps {
  readonly files: FilesModule;
  readonly engines: Pick<EnginesModule, 'catalogue' | 'engines'>;
  readonly engineFor: (model: ResolvedModel) => Promise<EngineLease>;
  readonly countPrompt: CountPrompt;
  readonly extract: DocumentExtractor;
}

export interface ServerToolsModule {
  /** Wraps text generation so that the model can call server tools. */
  readonly wrapGenerate: (generate: Generate) => Generate;
  readonly search: Search;
  /** Reads documents of the local index from the database, and other pages from the web. */
  readonly readPage: ReadPage;
  readonly examine: ExamineRequest;
  readonly hasSearchContent: HasSearchContent;
  /** Returns the current state of each tool. */
  readonly buildReports: () => Promise<readonly ToolReport[]>;
  /** Verifies the tools, such as the sandbox of programs, before the first request needs them. Never throws. */
  readonly verify: () => Promise<void>;
}

/** Opens the tools that models can call on the server: search, and what the capabilities add. */
export async function openServerTools(
  context: ServiceContext,
  { files, engines: { catalogue, engines }, engineFor, countPrompt, extract }: ServerToolsDeps,
): Promise<ServerToolsModule> {
  const { config, overrides, environment, clock, log, store, runsCleanup } = context;
  const { capabilities = [], isPrimary = false } = overrides;
  const copiesFolder = join(config.data, 'code-inputs');
  // Removes copies that a killed process left behind.
  if (runsCleanup) await rm(copiesFolder, { recursive: true, force: true });
  const toolContext = { config, clock, log, store, catalogue, engines, extract, isPrimary };
  const tools = await openCapabilityTools(capabilities, toolContext, context.lifecycle);
  const { code, readPage, localIndex } = joinCapabilityTools(tools);
  const index = localIndex?.provider;
  const providers = createSearchProviders({ config, environment, index, clock, log });
  const search = createSearch({ providers, log, clock });
  const hasSearchContent = createHasSearchContent(providers);
  const links = files.createLinksBelow(DOWNLOADS_PATH, config.files.urlSeconds);
  const callerFiles = createCallerFiles({ files: files.files, links, folder: copiesFolder });
  const examine = createExamineRequest({ catalogue, acquireEngine: engineFor, countPrompt });
  const newId = (): string => systemIdGenerator.createSortableId('srv_');
  return {
    wrapGenerate: (generate) =>
      createGenerateWithServerTools({
        generate,
        examine,
        search,
        hasSearchContent,
        readPage,
        code,
        ...callerFiles,
        clock,
        newId,
      }),
    search,
    examine,
    readPage: localIndex?.createReadPage(readPage ?? refusePages) ?? readPage ?? refusePages,
    buildReports: async () => [
      {
        tool: 'web search',
        state: 'on',
        detail: [
          config.search.providers.map(({ type }) => type).join(', '),
          ...((await hasSearchContent()) ? [] : [NOTHING_TO_SEARCH]),
        ].join('; '),
      },
      ...tools.flatMap(({ getReport }) => getReport?.() ?? []),
    ],
    hasSearchContent,
    async verify() {
      await Promise.all(tools.map(async ({ verify }) => await verify?.()));
    },
  };
}

const refusePages: ReadPage = () =>
  Promise.reject(new ServiceError('unsupported', 'Page reading is not available on this server.'));
