import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { Config } from '../config/config.ts';
import type { IndexCollection, IndexCollectionStore } from '../store/index-collections.ts';
import { checkSearchable } from './check-searchable.ts';

type Providers = Config['search']['providers'];

const INDEX: Providers = [{ type: 'index' }];
const BRAVE: Providers = [{ type: 'brave', apiKeyEnv: 'BRAVE_KEY' }] as unknown as Providers;
const WIKI: Providers = [{ type: 'kiwix', url: 'http://wiki.test' }];

const collection = (change: Partial<IndexCollection> = {}): IndexCollection => ({
  name: 'docs',
  sources: [],
  domain: undefined,
  workspace: undefined,
  createdAt: 0,
  refreshedAt: undefined,
  ...change,
});

interface Place {
  readonly collections?: readonly IndexCollection[];
  readonly documents?: number;
  readonly environment?: Readonly<Record<string, string>>;
}

function check(providers: Providers, { collections = [], documents = 1, environment = {} }: Place = {}): Promise<void> {
  const indexCollections = {
    list: async () => collections,
    totalsOf: async () => ({ documents, passages: 0, bytes: 0, vectors: 0 }),
  } satisfies Partial<IndexCollectionStore> as unknown as IndexCollectionStore;
  const search = { providers } as unknown as Config['search'];
  return checkSearchable({ search }, { store: { indexCollections }, environment });
}

describe('a search of the operator’s', () => {
  it('may find what a provider or the local index has', async () => {
    await check(WIKI);
    await check(BRAVE, { environment: { BRAVE_KEY: 'k' } });
    await check(INDEX, { collections: [collection()] });
    await check([...BRAVE, ...INDEX], { collections: [collection({ workspace: 'primary' })] });
  });

  it('can find nothing where nothing is there, and is told what to do', async () => {
    const nothing = { kind: 'not-found', message: /parley index add FOLDER.*search\.providers/ };
    await assert.rejects(check(INDEX), nothing);
    await assert.rejects(check(INDEX, { collections: [collection()], documents: 0 }), nothing);
    await assert.rejects(check(INDEX, { collections: [collection({ domain: 'weather' })] }), nothing);
    await assert.rejects(check(INDEX, { collections: [collection({ workspace: 'other' })] }), nothing);
    await assert.rejects(check(BRAVE, { collections: [collection()] }), nothing);
    await assert.rejects(check([{ type: 'kiwix', url: 'http://wiki.test', domain: 'wiki' }]), nothing);
  });
});
