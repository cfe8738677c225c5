import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IndexDocument } from '../../store/index-documents.ts';
import { openTestStore } from '../../store/__fixtures__/open-test-store.ts';
import { createDocumentBatch } from './document-batch.ts';
import { INDEX_BATCH_DOCUMENTS_MAX, INDEX_BATCH_MS_MAX } from './limits.ts';

const createDocument = (reference: string): IndexDocument => ({
  collection: 'c',
  reference,
  url: `parley-index:c/${reference}`,
  host: '',
  title: reference,
  siteName: 'c',
  icon: '',
  publishedAt: undefined,
  hash: reference,
  bytes: 1,
  passages: [{ text: 'whale', terms: ['whale'] }],
  termFormat: 2,
  at: 0,
});

describe('createDocumentBatch', () => {
  const open = async () => {
    const store = await openTestStore();
    const empty = { domain: undefined, workspace: undefined, region: undefined, refreshedAt: undefined };
    await store.indexCollections.insert({ name: 'c', sources: [], createdAt: 0, ...empty });
    let now = 0;
    const batch = createDocumentBatch({ store, clock: { now: () => now } });
    const countStored = async () => (await store.indexCollections.getTotals('c')).documents;
    return { store, batch, countStored, passTime: (ms: number) => void (now += ms) };
  };

  it('stores documents when there are enough of them, and the rest on request', async () => {
    const { store, batch, countStored } = await open();
    for (let at = 1; at < INDEX_BATCH_DOCUMENTS_MAX; at++) await batch.add(createDocument(`${at}`));
    assert.equal(await countStored(), 0);
    await batch.add(createDocument('last'));
    assert.equal(await countStored(), INDEX_BATCH_DOCUMENTS_MAX);
    await batch.add(createDocument('one more'));
    await batch.flush();
    assert.equal(await countStored(), INDEX_BATCH_DOCUMENTS_MAX + 1);
    await store.close();
  });

  it('stores documents of a slow source before there are enough', async () => {
    const { store, batch, countStored, passTime } = await open();
    await batch.add(createDocument('a'));
    passTime(INDEX_BATCH_MS_MAX);
    await batch.add(createDocument('b'));
    assert.equal(await countStored(), 2);
    await store.close();
  });

  it('fails when the collection is gone', async () => {
    const { store, batch } = await open();
    await store.indexCollections.remove('c');
    await batch.add(createDocument('a'));
    await assert.rejects(batch.flush(), { kind: 'conflict' });
    await store.close();
  });
});
