import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { IdGenerator } from '../core/id.ts';
import type { ReadPage, Search } from '../core/server-tools.ts';
import type { Log } from '../core/telemetry.ts';
import type { DocumentExtractor } from '../documents/document-extractor.ts';
import type { EngineLease } from '../engines/engine-registry.ts';
import type { CountPrompt } from '../generation/count-prompt.ts';
import type { Generate } from '../generation/generation.ts';
import { createExamineRequest } from '../generation/server-tools/examine-request.ts';
import type { ExamineRequest } from '../generation/server-tools/examine-request.ts';
import { createGenerateWithServerTools } from '../generation/server-tools/generate-with-server-tools.ts';
import type { Clock } from '../lib/clock.ts';
import { DOWNLOADS_PATH } from '../resources/files/signed-links.ts';
import { createIndexProvider } from '../resources/search-index/provider.ts';
import { createReadDocument } from '../resources/search-index/read-document.ts';
import { createSearchIndex } from '../resources/search-index/search.ts';
import type { Store } from '../store/store.ts';
import { createCodeInterpreter } from '../tools/code-interpreter/code-interpreter.ts';
import type { CodeInterpreterStatus } from '../tools/code-interpreter/code-interpreter.ts';
import { createCallerFiles } from './caller-files.ts';
import { createEmbedIndexTexts } from './embed-index-texts.ts';
import type { ModelEngines } from './model-engines.ts';
import type { ToolReport } from './readiness.ts';
import type { FilesModule } from './open-files.ts';
import { openSearch } from './open-search.ts';

export interface ServerToolsDeps {
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly files: FilesModule;
  readonly catalogue: Pick<Catalogue, 'resolve' | 'find'>;
  readonly engines: ModelEngines;
  readonly engineFor: (model: ResolvedModel) => Promise<EngineLease>;
  readonly countPrompt: CountPrompt;
  readonly extract: DocumentExtractor;
  readonly ids: Pick<IdGenerator, 'createSortableId'>;
  readonly clock: Clock;
  readonly log: Log;
  /** True in the one process that does the cleanup for all. */
  readonly runsCleanup: boolean;
}

export interface ServerToolsModule {
  /** Wraps text generation so that the model can call server tools. */
  readonly wrapGenerate: (generate: Generate) => Generate;
  readonly search: Search;
  /** Reads documents of the local index from the database, and other pages from the web. */
  readonly readPage: ReadPage;
  readonly examine: ExamineRequest;
  /** Returns the current state of each tool. */
  readonly buildReports: () => readonly ToolReport[];
  /** Verifies the sandbox of the code interpreter by attacking it, before the first request needs it. Never throws. */
  readonly verifySandbox: () => Promise<void>;
  close(): Promise<void>;
}

/** Opens the tools that models can call on the server: search, pages, code interpreter. */
export async function openServerTools(deps: ServerToolsDeps): Promise<ServerToolsModule> {
  const { config, environment, store, files, catalogue, engines, engineFor, countPrompt, clock, log, ids } = deps;
  const copiesFolder = join(config.data, 'code-inputs');
  // Removes copies that a killed process left behind.
  if (deps.runsCleanup) await rm(copiesFolder, { recursive: true, force: true });
  const embed = createEmbedIndexTexts({ catalogue, engines, priority: 'live' });
  const index = createIndexProvider(createSearchIndex({ store, clock, embed, log }));
  const searchModule = openSearch({ config, environment, index, extract: deps.extract, clock, log });
  const { search, readPage } = searchModule;
  const code = createCodeInterpreter({ ...config.codeInterpreter, folder: join(config.data, 'code'), clock, log });
  const links = files.createLinksBelow(DOWNLOADS_PATH, config.files.urlSeconds);
  const callerFiles = createCallerFiles({ files: files.files, links, folder: copiesFolder });
  const examine = createExamineRequest({ catalogue, acquireEngine: engineFor, countPrompt });
  const newId = (): string => ids.createSortableId('srv_');
  return {
    wrapGenerate: (generate) =>
      createGenerateWithServerTools({ generate, examine, search, readPage, code, ...callerFiles, clock, newId }),
    search,
    examine,
    readPage: createReadDocument({ store, readPage }),
    buildReports: () => [
      { tool: 'web search', state: 'on', detail: config.search.providers.map(({ type }) => type).join(', ') },
      toToolReport(code.status()),
    ],
    async verifySandbox() {
      await code.verify();
    },
    async close() {
      await Promise.all([code.close(), searchModule.close()]);
    },
  };
}

const toToolReport = ({ configuredLevel, effectiveLevel, sandbox, reason }: CodeInterpreterStatus): ToolReport => ({
  tool: 'code interpreter',
  state: effectiveLevel === 'off' ? 'off' : effectiveLevel === 'unproven' ? 'unproven' : 'on',
  ...(effectiveLevel === 'off'
    ? {}
    : { detail: sandbox === undefined ? configuredLevel : `${effectiveLevel}, ${sandbox}` }),
  ...(effectiveLevel === 'unproven'
    ? { reason: 'sandbox verification is still running; see the log for its result' }
    : {}),
  ...(reason === undefined ? {} : { reason }),
});
