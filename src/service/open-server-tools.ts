import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Catalogue, ResolvedModel } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { Ids } from '../core/id.ts';
import type { ReadPage, Search } from '../core/server-tools.ts';
import type { Log } from '../core/telemetry.ts';
import type { Extract } from '../documents/extract.ts';
import type { Lease } from '../engines/registry.ts';
import type { CountPrompt } from '../generation/count-prompt.ts';
import type { Generate } from '../generation/generation.ts';
import { createExamine } from '../generation/server-tools/examine.ts';
import type { Examine } from '../generation/server-tools/examine.ts';
import { createGenerateWithServerTools } from '../generation/server-tools/generate-with-server-tools.ts';
import type { Clock } from '../lib/clock.ts';
import { DOWNLOADS_PATH } from '../resources/files/links.ts';
import { createIndexProvider } from '../resources/search-index/provider.ts';
import { createReadDocument } from '../resources/search-index/read-document.ts';
import { createSearchIndex } from '../resources/search-index/search.ts';
import type { Store } from '../store/store.ts';
import { createCodeInterpreter } from '../tools/code-interpreter/code-interpreter.ts';
import type { CodeInterpreterStatus } from '../tools/code-interpreter/code-interpreter.ts';
import { createCallerFiles } from './caller-files.ts';
import { createIndexVectors } from './index-vectors.ts';
import type { ModelEngines } from './model-engines.ts';
import type { ToolReport } from './readiness.ts';
import type { OpenedFiles } from './open-files.ts';
import { openSearch } from './open-search.ts';

export interface ServerToolsNeeds {
  readonly config: Config;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly store: Store;
  readonly files: OpenedFiles;
  readonly catalogue: Pick<Catalogue, 'resolve' | 'find'>;
  readonly engines: ModelEngines;
  readonly engineFor: (model: ResolvedModel) => Promise<Lease>;
  readonly countPrompt: CountPrompt;
  readonly extract: Extract;
  readonly ids: Pick<Ids, 'sortable'>;
  readonly clock: Clock;
  readonly log: Log;
  /** Of several processes one cleans up for all. */
  readonly sweeps: boolean;
}

export interface OpenedServerTools {
  /** The same generation, for requests that let the model use something here. */
  readonly around: (generate: Generate) => Generate;
  readonly search: Search;
  /** Documents of the local index as it has them, other pages from where they are. */
  readonly readPage: ReadPage;
  readonly examine: Examine;
  /** What is there to use, as it is known now. */
  readonly report: () => readonly ToolReport[];
  /** Attacks the sandbox of programs, so that it is known whether it holds before anybody asks. Never throws. */
  readonly prepare: () => Promise<void>;
  close(): Promise<void>;
}

/** What models may use on this side: searches, pages, programs. */
export async function openServerTools(needs: ServerToolsNeeds): Promise<OpenedServerTools> {
  const { config, environment, store, files, catalogue, engines, engineFor, countPrompt, clock, log, ids } = needs;
  const embed = createIndexVectors({ catalogue, engines, priority: 'live' });
  const index = createIndexProvider(createSearchIndex({ store, clock, embed, log }));
  const found = openSearch({ config, environment, index, extract: needs.extract, clock, log });
  const { search, readPage } = found;
  const code = createCodeInterpreter({ ...config.codeInterpreter, folder: join(config.data, 'code'), clock, log });
  const folder = join(config.data, 'code-inputs');
  // Of answers that a killed process left.
  if (needs.sweeps) await rm(folder, { recursive: true, force: true });
  const links = files.linksAt(DOWNLOADS_PATH, config.files.urlSeconds);
  const callerFiles = createCallerFiles({ files: files.files, links, folder });
  const examine = createExamine({ catalogue, engineFor, countPrompt });
  const newId = (): string => ids.sortable('srv_');
  return {
    around: (generate) =>
      createGenerateWithServerTools({ generate, examine, search, readPage, code, ...callerFiles, clock, newId }),
    search,
    examine,
    readPage: createReadDocument({ store, readPage }),
    report: () => [
      { tool: 'web search', state: 'on', detail: config.search.providers.map(({ type }) => type).join(', ') },
      reportOf(code.status()),
    ],
    async prepare() {
      await code.prepare();
    },
    async close() {
      await Promise.all([code.close(), found.close()]);
    },
  };
}

const reportOf = ({ asked, inForce, sandbox, reason }: CodeInterpreterStatus): ToolReport => ({
  tool: 'code interpreter',
  state: inForce === 'off' ? 'off' : inForce === 'unproven' ? 'unproven' : 'on',
  ...(inForce === 'off' ? {} : { detail: sandbox === undefined ? asked : `${inForce}, ${sandbox}` }),
  ...(inForce === 'unproven' ? { reason: 'its sandbox is being tried' } : {}),
  ...(reason === undefined ? {} : { reason }),
});
