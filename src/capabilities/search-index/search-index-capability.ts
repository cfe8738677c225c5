import { createIndexCommand } from './command/index-command.ts';
import type { CommandCapability } from '../../commands/command-capability.ts';
import { createEmbedIndexTexts } from './embed-index-texts.ts';
import { openSearchIndex } from './open-search-index.ts';
import { createRankIndexTexts } from './rank-index-texts.ts';
import { createReadDocument } from './read-document.ts';
import { createSearchIndex } from './search.ts';
import { startTermUpdater } from './term-updater.ts';
import { startVectorFiller } from './vector-filler.ts';

/** Local documents that web search finds without a network, their vectors, and the command that manages them. */
export const searchIndex: CommandCapability = {
  name: 'search index',
  openTools({ store, clock, log, catalogue, engines }) {
    const embed = createEmbedIndexTexts({ catalogue, engines, priority: 'live' });
    const rank = createRankIndexTexts({ catalogue, engines });
    const search = createSearchIndex({ store, clock, embed, rank, log });
    return {
      localIndex: {
        provider: {
          name: 'index',
          isOwn: true,
          search,
          hasContent: (tenant) => store.indexSearch.hasDocuments(tenant),
        },
        createReadPage: (readPage) => createReadDocument({ store, readPage }),
      },
    };
  },
  open({ store, catalogue, engines, log, runsCleanup }) {
    if (!runsCleanup) return {};
    const embed = createEmbedIndexTexts({ catalogue, engines, priority: 'background' });
    const updater = startTermUpdater({ store, log });
    const filler = startVectorFiller({ store, embed, log });
    return {
      async close() {
        await Promise.all([updater.close(), filler.close()]);
      },
    };
  },
  createCommands: ({ load, env, capabilities, stdout, stderr }) => [
    createIndexCommand({
      open(flags) {
        const warn = (message: string): void => void stderr.write(`parley: ${message}\n`);
        return openSearchIndex(load(flags).config, { environment: env, log: { warn }, capabilities });
      },
      stdout,
      stderr,
    }),
  ],
};
