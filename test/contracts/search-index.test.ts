import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { IndexCollection } from '../../src/store/index-collections.ts';
import type { IndexDocument } from '../../src/store/index-documents.ts';
import type { IndexScope } from '../../src/store/index-search.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

/** A time that no 32-bit column holds. */
const NOW = 1_790_000_000_123;
const SCOPE: IndexScope = { workspace: 'primary', of: 'plain' };

const collectionOf = (name: string, change: Partial<IndexCollection> = {}): IndexCollection => ({
  name,
  sources: [{ type: 'folder', path: '/somewhere/文 "x"' }],
  domain: undefined,
  workspace: undefined,
  createdAt: NOW,
  refreshedAt: undefined,
  ...change,
});

const documentOf = (
  collection: string,
  reference: string,
  texts: readonly string[],
  change: Partial<IndexDocument> = {},
): IndexDocument => ({
  collection,
  reference,
  url: `parley-index:${collection}/${reference}`,
  host: '',
  title: reference,
  siteName: collection,
  icon: '',
  publishedAt: NOW,
  hash: `hash of ${texts.join()}`,
  bytes: texts.join('').length,
  passages: texts.map((text) => ({ text, terms: text.split(' ') })),
  at: NOW,
  ...change,
});

/** What each database found for the same question, to be compared at the end. */
const rankings = new Map<string, string[]>();

for (const { name, dialect } of DIALECTS) {
  describe(`the search index in the store on ${name}`, () => {
    let folder = '';
    let store: Store;
    before(async () => {
      folder = await mkdtemp(join(tmpdir(), 'parley-search-index-'));
      store = await openStore({ dialect: dialect(folder) });
    });
    after(async () => {
      await store.close();
      await rm(folder, { recursive: true });
    });

    const put = (document: IndexDocument) => store.transaction(({ indexDocuments }) => indexDocuments.put(document));
    const made = async (collection: IndexCollection, documents: readonly IndexDocument[] = []) => {
      assert.equal(await store.indexCollections.insert(collection), true);
      for (const document of documents) assert.equal(await put(document), true);
    };
    const emptied = async (collection: string) => {
      const hashes = await store.indexDocuments.hashes(collection, { after: '', limit: 100 });
      await store.transaction(({ indexDocuments }) => indexDocuments.remove(collection, [...hashes.keys()]));
      assert.equal(await store.indexCollections.remove(collection), true);
    };
    const found = async (terms: readonly string[], scope: IndexScope = SCOPE) => {
      const matches = await store.indexSearch.match(terms, scope, 100);
      const passages = await store.indexSearch.read(
        matches.map(({ passage }) => passage),
        scope,
      );
      return matches.map(({ passage }) => passages.get(passage)?.text ?? '');
    };

    it('keeps collections under one name each', async () => {
      const first = collectionOf('names', { domain: 'stock', workspace: 'primary' });
      await made(first);
      assert.equal(await store.indexCollections.insert(collectionOf('names')), false);
      assert.deepEqual(await store.indexCollections.find('names'), first);
      await store.indexCollections.setRefreshed('names', NOW + 5);
      assert.deepEqual(await store.indexCollections.list(), [{ ...first, refreshedAt: NOW + 5 }]);
      const sources = [{ type: 'url', url: 'https://a.test/' }] as const;
      await store.indexCollections.setSources('names', sources);
      assert.deepEqual(await store.indexCollections.find('names'), { ...first, sources });
      assert.equal(await store.indexCollections.remove('names'), true);
      assert.equal(await store.indexCollections.remove('names'), false);
      assert.equal(await store.indexCollections.find('names'), undefined);
    });

    it('finds the passage that says it, and gives it back whole', async () => {
      const text = 'blue whale 鯨 \ud83d\udc33';
      await made(collectionOf('whole'), [
        documentOf('whole', 'a.md', ['red fox', text], { publishedAt: undefined, icon: 'i', siteName: 's' }),
        documentOf('whole', 'b.md', ['green frog']),
      ]);
      const [match, ...others] = await store.indexSearch.match(['whale'], SCOPE, 10);
      assert.ok(match && others.length === 0);
      assert.deepEqual((await store.indexSearch.read([match.passage], SCOPE)).get(match.passage), {
        passage: match.passage,
        text,
        url: 'parley-index:whole/a.md',
        title: 'a.md',
        siteName: 's',
        icon: 'i',
        publishedAt: undefined,
        hash: `hash of red fox,${text}`,
        domain: undefined,
      });
      assert.deepEqual(await found(['鯨']), [text]);
      assert.deepEqual((await found(['鯨', 'frog', 'nothing'])).toSorted(), [text, 'green frog']);
      assert.deepEqual(await found([]), []);
      const totals = { documents: 2, passages: 3, bytes: 7 + text.length + 10, vectors: 0 };
      assert.deepEqual(await store.indexCollections.totalsOf('whole'), totals);
      await emptied('whole');
    });

    it('ranks what is rare above what is common, what is said twice above once, and short above long', async () => {
      const filler = Array.from({ length: 30 }, (_, at) => `filler${at}`).join(' ');
      await made(
        collectionOf('ranks'),
        [
          'common rare',
          'common common',
          `common ${filler}`,
          `rare rare ${filler}`,
          `rare ${filler}`,
          ...Array.from({ length: 20 }, (_, at) => `other${at} words`),
        ].map((text, at) => documentOf('ranks', `${at}`, [text])),
      );
      const matches = await store.indexSearch.match(['rare', 'common'], SCOPE, 10);
      assert.equal((await found(['rare', 'common']))[0], 'common rare');
      assert.deepEqual(await found(['common']), ['common common', 'common rare', `common ${filler}`]);
      assert.deepEqual(await found(['rare']), ['common rare', `rare rare ${filler}`, `rare ${filler}`]);
      assert.deepEqual(await store.indexSearch.counts(['rare', 'none', 'common']), {
        passages: 25,
        having: [3, 0, 3],
      });
      const texts = await found(['rare', 'common', 'words']);
      rankings.set(name, [...texts, ...matches.map(({ score }) => score.toFixed(6))]);
      await emptied('ranks');
    });

    it('tells the best passage of a document once', async () => {
      await made(collectionOf('once'), [
        documentOf('once', 'a', ['moon far', 'moon moon', 'sun']),
        documentOf('once', 'b', ['moon far away from here']),
        documentOf('once', 'c', ['x']),
        documentOf('once', 'd', ['y', 'z', 'v', 'w', 'u']),
      ]);
      assert.deepEqual(await found(['moon']), ['moon moon', 'moon far away from here']);
      assert.equal((await store.indexSearch.match(['moon'], SCOPE, 1)).length, 1);
      await emptied('once');
    });

    it('replaces a document whole: nothing of the older one is found', async () => {
      await made(collectionOf('again'), [documentOf('again', 'a', ['old word', 'older word'])]);
      await put(documentOf('again', 'a', ['new word']));
      assert.deepEqual(await found(['word']), ['new word']);
      assert.deepEqual(await found(['old', 'older']), []);
      assert.deepEqual(
        [...(await store.indexDocuments.hashes('again', { after: '', limit: 9 }))],
        [['a', 'hash of new word']],
      );
      await store.transaction(({ indexDocuments }) => indexDocuments.remove('again', ['a', 'none']));
      assert.deepEqual(await found(['word']), []);
      assert.deepEqual(await store.indexSearch.counts(['word']), { passages: 0, having: [0] });
      await emptied('again');
    });

    it('keeps the older document where the transaction of the newer one fails', async () => {
      await made(collectionOf('kept'), [documentOf('kept', 'a', ['old word'])]);
      const failing = store.transaction(async ({ indexDocuments }) => {
        await indexDocuments.put(documentOf('kept', 'a', ['new word']));
        throw new Error('the power is gone');
      });
      await assert.rejects(failing);
      assert.deepEqual(await found(['word']), ['old word']);
      assert.deepEqual(await found(['new']), []);
      await emptied('kept');
    });

    it('takes no document for a collection that is not there, and removes none that has some', async () => {
      assert.equal(await put(documentOf('nowhere', 'a', ['lost word'])), false);
      assert.deepEqual(await found(['lost']), []);
      await made(collectionOf('full'), [documentOf('full', 'a', ['x'])]);
      assert.equal(await store.indexCollections.remove('full'), false);
      await emptied('full');
    });

    it('shows a workspace its own and what is everybody’s, and nothing of others', async () => {
      await made(collectionOf('all'), [documentOf('all', 'a', ['secret of all'])]);
      await made(collectionOf('mine', { workspace: 'primary' }), [documentOf('mine', 'a', ['secret of mine'])]);
      await made(collectionOf('theirs', { workspace: 'other' }), [documentOf('theirs', 'a', ['secret of theirs'])]);
      assert.deepEqual((await found(['secret'])).toSorted(), ['secret of all', 'secret of mine']);
      assert.deepEqual(await found(['secret'], { ...SCOPE, workspace: 'stranger' }), ['secret of all']);
      const [, other] = await store.indexSearch.match(['secret'], { ...SCOPE, workspace: 'other' }, 9);
      assert.ok(other);
      assert.equal((await store.indexSearch.read([other.passage], SCOPE)).size, 0);
      for (const each of ['all', 'mine', 'theirs']) await emptied(each);
    });

    it('reads a document by its address: the newest, in order, to a limit, for those who may find it', async () => {
      const url = 'https://example.com/a';
      const texts = ['one', 'two', 'three'];
      const read = async (limit: number, scope = SCOPE) =>
        (await store.indexSearch.readDocument(url, scope, limit)).map(({ text }) => text);
      await made(collectionOf('older'), [documentOf('older', 'a', ['old'], { url, host: 'example.com', at: NOW - 1 })]);
      await made(collectionOf('newer'), [documentOf('newer', 'a', texts, { url, host: 'example.com' })]);
      await made(collectionOf('others', { workspace: 'other' }), [
        documentOf('others', 'a', ['theirs'], { url, host: 'example.com', at: NOW + 1 }),
      ]);
      assert.deepEqual(await read(9), texts);
      assert.deepEqual(await read(2), ['one', 'two']);
      assert.deepEqual(await read(9, { ...SCOPE, workspace: 'other' }), ['theirs']);
      assert.deepEqual(await read(9, { ...SCOPE, blockedSites: ['example.com'] }), []);
      for (const each of ['older', 'newer', 'others']) await emptied(each);
      assert.deepEqual(await read(9), []);
    });

    it('keeps collections of a domain apart', async () => {
      await made(collectionOf('market', { domain: 'stock' }), [documentOf('market', 'a', ['price of tea'])]);
      await made(collectionOf('books'), [documentOf('books', 'a', ['price of books'])]);
      assert.deepEqual(await found(['price']), ['price of books']);
      assert.deepEqual(await found(['price'], { ...SCOPE, of: 'domains' }), ['price of tea']);
      for (const each of ['market', 'books']) await emptied(each);
    });

    it('finds by site with what is under it, and by age; what has none is not of a site, nor new', async () => {
      const page = (host: string, publishedAt?: number) =>
        documentOf('sites', `https://${host}/`, [`page on ${host}`], { host, publishedAt });
      await made(collectionOf('sites'), [
        page('example.com', NOW),
        page('docs.Example.com', NOW - 1_000),
        page('badexample.com', NOW - 2_000),
        page('example.org'),
        documentOf('sites', 'local', ['page on nothing'], { publishedAt: undefined }),
      ]);
      const sorted = async (scope: Partial<IndexScope>) =>
        (await found(['page'], { ...SCOPE, ...scope })).map((text) => text.slice(8)).toSorted();
      assert.deepEqual(await sorted({ sites: ['example.com'] }), ['docs.Example.com', 'example.com']);
      assert.deepEqual(await sorted({ sites: ['example.com', 'example.org.'] }), [
        'docs.Example.com',
        'example.com',
        'example.org',
      ]);
      assert.deepEqual(await sorted({ sites: [] }), []);
      assert.deepEqual(await sorted({ sites: ['%.com', 'e_ample.com', "' or 1=1 --"] }), []);
      assert.deepEqual(await sorted({ blockedSites: ['EXAMPLE.com'] }), ['badexample.com', 'example.org', 'nothing']);
      assert.deepEqual(await sorted({ since: NOW - 1_000 }), ['docs.Example.com', 'example.com']);
      await emptied('sites');
    });

    it('takes any text for a term, and none for a word of a query language', async () => {
      await made(collectionOf('quotes'), [
        documentOf('quotes', 'a', ['plain words here'], {
          passages: [{ text: 'odd', terms: ['ordinary', "o'neill", 'a\\b', '東京', 'กำ', 'é'] }],
        }),
      ]);
      for (const term of ['ordinary', "o'neill", 'a\\b', '東京', 'กำ', 'é'])
        assert.deepEqual(await found([term]), ['odd'], term);
      const hostile = [
        '" OR "ordinary',
        "' | 'ordinary",
        'ordinary*',
        'NEAR',
        'terms:ordinary',
        '\\',
        "'",
        '"',
        '(',
        '\0',
      ];
      for (const term of hostile) {
        await found([term]);
        await store.indexSearch.counts([term]);
      }
      assert.deepEqual(await found(['" OR "nothing']), []);
      await emptied('quotes');
    });

    it('keeps vectors of one model for a document, as long as it is that document', async () => {
      await made(collectionOf('vectors'), [
        documentOf('vectors', 'a', ['one', 'two']),
        documentOf('vectors', 'b', ['three']),
      ]);
      const wish = { model: 'small', after: 0, limit: 10 };
      const [a, b] = await store.indexDocuments.withoutVectors('vectors', wish);
      assert.ok(a && b);
      assert.deepEqual([a.passages, b.passages], [2, 1]);
      assert.deepEqual(await store.indexDocuments.textsOf(a.id), ['one', 'two']);
      const vectors = { model: 'small', dimensions: 2, vectors: Uint8Array.of(1, 255, 128, 0) };
      await store.indexDocuments.setVectors(a.id, vectors);
      await store.indexDocuments.setVectors(b.id, { ...vectors, model: 'older' });
      await store.indexDocuments.setVectors(987_654_321, vectors);
      const kept = { document: a.id, firstPassage: a.firstPassage, dimensions: 2, vectors: [1, 255, 128, 0] };
      const read = async (scope = SCOPE) =>
        (await store.indexSearch.vectors('small', scope, { after: 0, limit: 10 })).map((each) => ({
          ...each,
          vectors: [...each.vectors],
        }));
      assert.deepEqual(await read(), [kept]);
      assert.deepEqual(await read({ ...SCOPE, of: 'domains' }), []);
      assert.deepEqual(
        (await store.indexDocuments.withoutVectors('vectors', wish)).map(({ id }) => id),
        [b.id],
      );
      await store.indexDocuments.setVectors(b.id, vectors);
      assert.equal((await read()).length, 2);
      assert.equal((await store.indexCollections.totalsOf('vectors')).vectors, 2);
      await put(documentOf('vectors', 'a', ['one']));
      assert.deepEqual(
        (await read()).map(({ document }) => document),
        [b.id],
      );
      await emptied('vectors');
      assert.deepEqual(await read(), []);
    });

    it('takes a document of thousands of passages', async () => {
      const texts = Array.from({ length: 1_201 }, (_, at) => `passage number${at}`);
      await made(collectionOf('long'), [documentOf('long', 'a', texts)]);
      assert.deepEqual(await found(['number1200']), ['passage number1200']);
      await emptied('long');
    });
  });
}

describe('the search index', () => {
  it('ranks alike on every database', () => {
    const [first, ...others] = [...rankings.values()];
    assert.equal(others.length, DIALECTS.length - 1);
    for (const other of others) assert.deepEqual(other, first);
  });
});
