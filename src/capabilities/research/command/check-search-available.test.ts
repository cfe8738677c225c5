import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../../../config/config.ts';
import type { IndexCollection, IndexCollectionStore } from '../../../store/index-collections.ts';
import { checkSearchAvailable } from './check-search-available.ts';

type Providers = Config['search']['providers'];

const INDEX: Providers = [{ type: 'index' }];
const BRAVE: Providers = [{ type: 'brave', apiKeyEnv: 'BRAVE_KEY' }] as unknown as Providers;
const WIKI: Providers = [{ type: 'kiwix', url: 'http://wiki.test' }];

const collection = (overrides: Partial<IndexCollection> = {}): IndexCollection => ({
  name: 'docs',
  sources: [],
  domain: undefined,
  workspace: undefined,
  region: undefined,
  createdAt: 0,
  refreshedAt: undefined,
  ...overrides,
});

interface SearchSources {
  readonly collections?: readonly IndexCollection[];
  readonly documents?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

function check(
  providers: Providers,
  { collections = [], documents = 1, environment = {} }: SearchSources = {},
): Promise<void> {
  const indexCollections = {
    list: async () => collections,
    getTotals: async () => ({ documents, passages: 0, bytes: 0, vectors: 0 }),
  } satisfies Partial<IndexCollectionStore> as unknown as IndexCollectionStore;
  const search = { providers } as unknown as Config['search'];
  return checkSearchAvailable({ search, regions: {} }, { store: { indexCollections }, environment });
}

describe('checkSearchAvailable', () => {
  it('accepts a usable provider or a document in the local index', async () => {
    await check(WIKI);
    await check(BRAVE, { environment: { BRAVE_KEY: 'k' } });
    await check(INDEX, { collections: [collection()] });
    await check([...BRAVE, ...INDEX], { collections: [collection({ workspace: 'primary' })] });
  });

  it('refuses when no source is usable, and says what to do', async () => {
    const expected = { kind: 'not-found', message: /parley index add FOLDER.*search\.providers/ };
    await assert.rejects(check(INDEX), expected);
    await assert.rejects(check(INDEX, { collections: [collection()], documents: 0 }), expected);
    await assert.rejects(check(INDEX, { collections: [collection({ domain: 'weather' })] }), expected);
    await assert.rejects(check(INDEX, { collections: [collection({ workspace: 'other' })] }), expected);
    await assert.rejects(check(BRAVE, { collections: [collection()] }), expected);
    await assert.rejects(check([{ type: 'kiwix', url: 'http://wiki.test', domain: 'wiki' }]), expected);
  });
});
