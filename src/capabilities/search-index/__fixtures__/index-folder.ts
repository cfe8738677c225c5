import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import type { ReadPage } from '../../../core/server-tools.ts';
import { createDocumentExtractor } from '../../../documents/document-extractor.ts';
import { createInlineExtractor } from '../../../documents/inline-extractor.ts';
import { openTestStore } from '../../../store/__fixtures__/open-test-store.ts';
import type { Store } from '../../../store/store.ts';
import { createSearchIndexOperator } from '../operator.ts';
import type { EmbedTexts, RankTexts, SearchIndexOperator } from '../search-index.ts';
import { createSearchIndex, type SearchIndex } from '../search.ts';

/** The local index over a folder of a test's own. */
export interface IndexFolder {
  readonly folder: string;
  readonly store: Store;
  readonly operator: SearchIndexOperator;
  readonly search: SearchIndex;
  /** Reasons why a question had no vector. */
  readonly warnings: readonly unknown[];
  write(path: string, text: string | Uint8Array): Promise<void>;
  close(): Promise<void>;
}

export const NOW = Date.parse('2026-07-01T12:00:00Z');

export interface IndexFolderOptions {
  readonly embed?: EmbedTexts;
  readonly rank?: RankTexts;
  readonly readPage?: ReadPage;
}

export async function openIndexFolder({ embed, rank, readPage }: IndexFolderOptions = {}): Promise<IndexFolder> {
  const folder = await mkdtemp(join(tmpdir(), 'parley-index-'));
  const store = await openTestStore();
  const clock = { now: () => NOW };
  const warnings: unknown[] = [];
  const parts = { store, clock, embed };
  return {
    folder,
    store,
    operator: createSearchIndexOperator({ ...parts, readPage, extract: createInlineExtractor(createDocumentExtractor()) }),
    search: createSearchIndex({ ...parts, rank, log: { warn: (_, fields) => void warnings.push(fields?.['reason']) } }),
    warnings,
    async write(path, text) {
      await mkdir(dirname(join(folder, path)), { recursive: true });
      await writeFile(join(folder, path), text);
    },
    async close() {
      await store.close();
      await rm(folder, { recursive: true });
    },
  };
}
