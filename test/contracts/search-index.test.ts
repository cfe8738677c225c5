import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { IndexCollection } from '../../src/store/index-collections.ts';
import type { IndexDocument } from '../../src/store/index-documents.ts';
import type { IndexSearchFilter } from '../../src/store/index-search.ts';
import type { Store } from '../../src/store/store.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';

/** A timestamp that does not fit into 32 bits. */
const NOW = 1_790_000_000_123;
const inBeijing = (workspace: string) => ({ region: 'cn-beijing', workspace }) as const;

const SCOPE: IndexSearchFilter = { tenant: inBeijing('primary'), collections: 'plain' };

const createCollection = (name: string, change: Partial<IndexCollection> = {}): IndexCollection => ({
  name,
  sources: [{ type: 'folder', path: '/somewhere/文 "x"' }],
  domain: undefined,
  workspace: undefined,
  region: undefined,
  createdAt: NOW,
  refreshedAt: undefined,
  ...change,
});

const createDocument = (
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
  termFormat: 2,
  at: NOW,
  ...change,
});

/** Results of the same query on each database, compared in the last test. */
const rankings = new Map<string, string[]>();

describeOnDialects('search index in the store', ({ dialectName, onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  const upsert = (document: IndexDocument) =>
    store.transaction(({ indexDocuments }) => indexDocuments.upsert(document));
  const insertCollection = async (collection: IndexCollection, documents: readonly IndexDocument[] = []) => {
    assert.equal(await store.indexCollections.insert(collection), true);
    for (const document of documents) assert.equal(await upsert(document), true);
  };
  const removeCollection = async (collection: string) => {
    const hashes = await store.indexDocuments.listHashes(collection, { after: '', limit: 100 });
    await store.transaction(({ indexDocuments }) => indexDocuments.remove(collection, [...hashes.keys()]));
    assert.equal(await store.indexCollections.remove(collection), true);
  };
  const searchTexts = async (terms: readonly string[], scope: IndexSearchFilter = SCOPE) => {
    const matches = await store.indexSearch.matchTerms(terms, scope, 100);
    const passages = await store.indexSearch.readPassages(
      matches.map(({ passage }) => passage),
      scope,
    );
    return matches.map(({ passage }) => passages.get(passage)?.text ?? '');
  };

  it('knows whether a workspace, or any workspace, has documents', async () => {
    const { indexSearch } = store;
    assert.equal(await indexSearch.hasDocuments(), false);
    await insertCollection(createCollection('empty'));
    assert.equal(await indexSearch.hasDocuments(), false);
    await insertCollection(createCollection('theirs', { workspace: 'other' }), [createDocument('theirs', 'a', ['x'])]);
    assert.equal(await indexSearch.hasDocuments(), true);
    assert.equal(await indexSearch.hasDocuments(inBeijing('other')), true);
    assert.equal(await indexSearch.hasDocuments(inBeijing('primary')), false);
    await insertCollection(createCollection('public'), [createDocument('public', 'b', ['y'])]);
    assert.equal(await indexSearch.hasDocuments(inBeijing('primary')), true);
    for (const name of ['empty', 'theirs', 'public']) await removeCollection(name);
  });

  it('stores one collection per name', async () => {
    const first = createCollection('names', { domain: 'stock', workspace: 'primary' });
    await insertCollection(first);
    assert.equal(await store.indexCollections.insert(createCollection('names')), false);
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

  it('finds the passage with a term, and returns it whole', async () => {
    const text = 'blue whale 鯨 \ud83d\udc33';
    await insertCollection(createCollection('whole'), [
      createDocument('whole', 'a.md', ['red fox', text], { publishedAt: undefined, icon: 'i', siteName: 's' }),
      createDocument('whole', 'b.md', ['green frog']),
    ]);
    const [match, ...others] = await store.indexSearch.matchTerms(['whale'], SCOPE, 10);
    assert.ok(match && others.length === 0);
    assert.deepEqual((await store.indexSearch.readPassages([match.passage], SCOPE)).get(match.passage), {
      passage: match.passage,
      document: match.document,
      collection: 'whole',
      firstPassage: match.document + 1,
      passages: 2,
      text,
      url: 'parley-index:whole/a.md',
      title: 'a.md',
      siteName: 's',
      icon: 'i',
      publishedAt: undefined,
      hash: `hash of red fox,${text}`,
      domain: undefined,
    });
    assert.deepEqual(await searchTexts(['鯨']), [text]);
    assert.deepEqual((await searchTexts(['鯨', 'frog', 'nothing'])).toSorted(), [text, 'green frog']);
    assert.deepEqual(await searchTexts([]), []);
    const totals = { documents: 2, passages: 3, bytes: 7 + text.length + 10, vectors: 0 };
    assert.deepEqual(await store.indexCollections.getTotals('whole'), totals);
    await removeCollection('whole');
  });

  it('ranks rare terms above common ones, repeated above single ones, and short passages above long ones', async () => {
    const filler = Array.from({ length: 30 }, (_, at) => `filler${at}`).join(' ');
    await insertCollection(
      createCollection('ranks'),
      [
        'common rare',
        'common common',
        `common ${filler}`,
        `rare rare ${filler}`,
        `rare ${filler}`,
        ...Array.from({ length: 20 }, (_, at) => `other${at} words`),
      ].map((text, at) => createDocument('ranks', `${at}`, [text])),
    );
    const matches = await store.indexSearch.matchTerms(['rare', 'common'], SCOPE, 10);
    assert.equal((await searchTexts(['rare', 'common']))[0], 'common rare');
    assert.deepEqual(await searchTexts(['common']), ['common common', 'common rare', `common ${filler}`]);
    assert.deepEqual(await searchTexts(['rare']), ['common rare', `rare rare ${filler}`, `rare ${filler}`]);
    assert.deepEqual(await store.indexSearch.countTerms(['rare', 'none', 'common']), {
      passages: 25,
      passagesByTerm: [3, 0, 3],
    });
    const texts = await searchTexts(['rare', 'common', 'words']);
    rankings.set(dialectName, [...texts, ...matches.map(({ score }) => score.toFixed(6))]);
    await removeCollection('ranks');
  });

  it('returns only the best passage of a document', async () => {
    await insertCollection(createCollection('once'), [
      createDocument('once', 'a', ['moon far', 'moon moon', 'sun']),
      createDocument('once', 'b', ['moon far away from here']),
      createDocument('once', 'c', ['x']),
      createDocument('once', 'd', ['y', 'z', 'v', 'w', 'u']),
    ]);
    assert.deepEqual(await searchTexts(['moon']), ['moon moon', 'moon far away from here']);
    assert.equal((await store.indexSearch.matchTerms(['moon'], SCOPE, 1)).length, 1);
    await removeCollection('once');
  });

  it('returns the best passages of given documents, up to a number of each', async () => {
    await insertCollection(createCollection('several'), [
      createDocument('several', 'a', ['moon far', 'sun', 'moon moon', 'moon over there']),
      createDocument('several', 'b', ['moon of b']),
      createDocument('several', 'c', ['moon of c', 'x', 'y', 'z', 'u', 'v', 'w']),
    ]);
    const [a, b] = await store.indexDocuments.listWithoutVectors('several', { model: 'm', after: 0, limit: 2 });
    assert.ok(a && b);
    const matches = await store.indexSearch.matchPassages(['moon'], [a.id, b.id], 2);
    const passages = await store.indexSearch.readPassages(
      matches.map(({ passage }) => passage),
      SCOPE,
    );
    assert.deepEqual(
      matches.map(({ document, passage }) => [document, passages.get(passage)?.text]),
      [
        [a.id, 'moon moon'],
        [a.id, 'moon far'],
        [b.id, 'moon of b'],
      ],
    );
    assert.deepEqual(await store.indexSearch.matchPassages([], [a.id], 2), []);
    assert.deepEqual(await store.indexSearch.matchPassages(['moon'], [], 2), []);
    await removeCollection('several');
  });

  it('replaces a whole document: nothing of the old one is found', async () => {
    await insertCollection(createCollection('again'), [createDocument('again', 'a', ['old word', 'older word'])]);
    await upsert(createDocument('again', 'a', ['new word']));
    assert.deepEqual(await searchTexts(['word']), ['new word']);
    assert.deepEqual(await searchTexts(['old', 'older']), []);
    assert.deepEqual(
      [...(await store.indexDocuments.listHashes('again', { after: '', limit: 9 }))],
      [['a', 'hash of new word']],
    );
    await store.transaction(({ indexDocuments }) => indexDocuments.remove('again', ['a', 'none']));
    assert.deepEqual(await searchTexts(['word']), []);
    assert.deepEqual(await store.indexSearch.countTerms(['word']), { passages: 0, passagesByTerm: [0] });
    await removeCollection('again');
  });

  it('keeps the old document when the transaction of the new one fails', async () => {
    await insertCollection(createCollection('kept'), [createDocument('kept', 'a', ['old word'])]);
    const failing = store.transaction(async ({ indexDocuments }) => {
      await indexDocuments.upsert(createDocument('kept', 'a', ['new word']));
      throw new Error('the transaction failed');
    });
    await assert.rejects(failing);
    assert.deepEqual(await searchTexts(['word']), ['old word']);
    assert.deepEqual(await searchTexts(['new']), []);
    await removeCollection('kept');
  });

  it('rejects a document of a missing collection, and the removal of a collection with documents', async () => {
    assert.equal(await upsert(createDocument('nowhere', 'a', ['lost word'])), false);
    assert.deepEqual(await searchTexts(['lost']), []);
    await insertCollection(createCollection('full'), [createDocument('full', 'a', ['x'])]);
    assert.equal(await store.indexCollections.remove('full'), false);
    await removeCollection('full');
  });

  it('shows a workspace its own collections and shared ones, and nothing of other workspaces', async () => {
    await insertCollection(createCollection('all'), [createDocument('all', 'a', ['secret of all'])]);
    await insertCollection(createCollection('mine', { workspace: 'primary' }), [
      createDocument('mine', 'a', ['secret of mine']),
    ]);
    await insertCollection(createCollection('theirs', { workspace: 'other' }), [
      createDocument('theirs', 'a', ['secret of theirs']),
    ]);
    assert.deepEqual((await searchTexts(['secret'])).toSorted(), ['secret of all', 'secret of mine']);
    assert.deepEqual(await searchTexts(['secret'], { ...SCOPE, tenant: inBeijing('stranger') }), ['secret of all']);
    const [, other] = await store.indexSearch.matchTerms(['secret'], { ...SCOPE, tenant: inBeijing('other') }, 9);
    assert.ok(other);
    assert.equal((await store.indexSearch.readPassages([other.passage], SCOPE)).size, 0);
    for (const each of ['all', 'mine', 'theirs']) await removeCollection(each);
  });

  it('shows a collection of a region to keys of that region only', async () => {
    await insertCollection(createCollection('here', { workspace: 'primary', region: 'cn-beijing' }), [
      createDocument('here', 'a', ['secret of here']),
    ]);
    await insertCollection(createCollection('there', { region: 'us-east-1' }), [
      createDocument('there', 'a', ['secret of there']),
    ]);
    const abroad = { ...SCOPE, tenant: { region: 'us-east-1', workspace: 'primary' } } as const;
    assert.deepEqual(await searchTexts(['secret']), ['secret of here']);
    assert.deepEqual(await searchTexts(['secret'], abroad), ['secret of there']);
    assert.equal(await store.indexSearch.hasDocuments({ region: 'eu-central-1', workspace: 'primary' }), false);
    assert.deepEqual((await store.indexCollections.find('there'))?.region, 'us-east-1');
    for (const each of ['here', 'there']) await removeCollection(each);
  });

  it('reads the newest document of a URL, in order, up to a limit, for workspaces that may find it', async () => {
    const url = 'https://example.com/a';
    const texts = ['one', 'two', 'three'];
    const read = async (limit: number, scope = SCOPE) =>
      (await store.indexSearch.readDocument(url, scope, limit)).map(({ text }) => text);
    await insertCollection(createCollection('older'), [
      createDocument('older', 'a', ['old'], { url, host: 'example.com', at: NOW - 1 }),
    ]);
    await insertCollection(createCollection('newer'), [
      createDocument('newer', 'a', texts, { url, host: 'example.com' }),
    ]);
    await insertCollection(createCollection('others', { workspace: 'other' }), [
      createDocument('others', 'a', ['theirs'], { url, host: 'example.com', at: NOW + 1 }),
    ]);
    assert.deepEqual(await read(9), texts);
    assert.deepEqual(await read(2), ['one', 'two']);
    assert.deepEqual(await read(9, { ...SCOPE, tenant: inBeijing('other') }), ['theirs']);
    assert.deepEqual(await read(9, { ...SCOPE, blockedSites: ['example.com'] }), []);
    for (const each of ['older', 'newer', 'others']) await removeCollection(each);
    assert.deepEqual(await read(9), []);
  });

  it('keeps collections of a domain apart', async () => {
    await insertCollection(createCollection('market', { domain: 'stock' }), [
      createDocument('market', 'a', ['price of tea']),
    ]);
    await insertCollection(createCollection('books'), [createDocument('books', 'a', ['price of books'])]);
    assert.deepEqual(await searchTexts(['price']), ['price of books']);
    assert.deepEqual(await searchTexts(['price'], { ...SCOPE, collections: 'domains' }), ['price of tea']);
    for (const each of ['market', 'books']) await removeCollection(each);
  });

  it('filters by site including subdomains, and by age; documents without host or date do not match', async () => {
    const page = (host: string, publishedAt?: number) =>
      createDocument('sites', `https://${host}/`, [`page on ${host}`], { host, publishedAt });
    await insertCollection(createCollection('sites'), [
      page('example.com', NOW),
      page('docs.Example.com', NOW - 1_000),
      page('badexample.com', NOW - 2_000),
      page('example.org'),
      createDocument('sites', 'local', ['page on nothing'], { publishedAt: undefined }),
    ]);
    const searchHosts = async (scope: Partial<IndexSearchFilter>) =>
      (await searchTexts(['page'], { ...SCOPE, ...scope })).map((text) => text.slice(8)).toSorted();
    assert.deepEqual(await searchHosts({ sites: ['example.com'] }), ['docs.Example.com', 'example.com']);
    assert.deepEqual(await searchHosts({ sites: ['example.com', 'example.org.'] }), [
      'docs.Example.com',
      'example.com',
      'example.org',
    ]);
    assert.deepEqual(await searchHosts({ sites: [] }), []);
    assert.deepEqual(await searchHosts({ sites: ['%.com', 'e_ample.com', "' or 1=1 --"] }), []);
    assert.deepEqual(await searchHosts({ blockedSites: ['EXAMPLE.com'] }), [
      'badexample.com',
      'example.org',
      'nothing',
    ]);
    assert.deepEqual(await searchHosts({ since: NOW - 1_000 }), ['docs.Example.com', 'example.com']);
    await removeCollection('sites');
  });

  it('accepts any text as a term, and never interprets it as query syntax', async () => {
    await insertCollection(createCollection('quotes'), [
      createDocument('quotes', 'a', ['plain words here'], {
        passages: [{ text: 'odd', terms: ['ordinary', "o'neill", 'a\\b', '東京', 'กำ', 'é'] }],
      }),
    ]);
    for (const term of ['ordinary', "o'neill", 'a\\b', '東京', 'กำ', 'é'])
      assert.deepEqual(await searchTexts([term]), ['odd'], term);
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
      await searchTexts([term]);
      await store.indexSearch.countTerms([term]);
    }
    assert.deepEqual(await searchTexts(['" OR "nothing']), []);
    await removeCollection('quotes');
  });

  it('stores the vectors of one model per document, until the document is replaced', async () => {
    await insertCollection(createCollection('vectors'), [
      createDocument('vectors', 'a', ['one', 'two']),
      createDocument('vectors', 'b', ['three']),
    ]);
    const vectorQuery = { model: 'small', after: 0, limit: 10 };
    const [a, b] = await store.indexDocuments.listWithoutVectors('vectors', vectorQuery);
    assert.ok(a && b);
    assert.deepEqual([a.passages, b.passages], [2, 1]);
    assert.deepEqual(await store.indexDocuments.listPassageTexts(a.id), ['one', 'two']);
    const vectors = { model: 'small', dimensions: 2, vectors: Uint8Array.of(1, 255, 128, 0) };
    await store.indexDocuments.setVectors(a.id, vectors);
    await store.indexDocuments.setVectors(b.id, { ...vectors, model: 'older' });
    await store.indexDocuments.setVectors(987_654_321, vectors);
    const stored = { document: a.id, firstPassage: a.id + 1, dimensions: 2, vectors: [1, 255, 128, 0] };
    const read = async (scope = SCOPE, excludedCollections: readonly string[] = []) =>
      (await store.indexSearch.listVectors('small', { ...scope, excludedCollections }, { after: 0, limit: 10 })).map(
        (each) => ({
          ...each,
          vectors: [...each.vectors],
        }),
      );
    assert.deepEqual(await read(), [stored]);
    assert.deepEqual(await read({ ...SCOPE, collections: 'domains' }), []);
    assert.deepEqual(await read(SCOPE, ['vectors']), []);
    assert.deepEqual(await store.indexSearch.listIncompleteCollections('small', SCOPE), ['vectors']);
    assert.deepEqual(await store.indexSearch.listIncompleteCollections('small', { ...SCOPE, sites: [] }), []);
    assert.deepEqual(
      (await store.indexDocuments.listWithoutVectors('vectors', vectorQuery)).map(({ id }) => id),
      [b.id],
    );
    await store.indexDocuments.setVectors(b.id, vectors);
    assert.equal((await read()).length, 2);
    assert.deepEqual(await store.indexSearch.listIncompleteCollections('small', SCOPE), []);
    assert.equal((await store.indexCollections.getTotals('vectors')).vectors, 2);
    await upsert(createDocument('vectors', 'a', ['one']));
    assert.deepEqual(
      (await read()).map(({ document }) => document),
      [b.id],
    );
    await removeCollection('vectors');
    assert.deepEqual(await read(), []);
  });

  it('stores a document with more than a thousand passages', async () => {
    const texts = Array.from({ length: 1_201 }, (_, at) => `passage number${at}`);
    await insertCollection(createCollection('long'), [createDocument('long', 'a', texts)]);
    assert.deepEqual(await searchTexts(['number1200']), ['passage number1200']);
    await removeCollection('long');
  });
});

describe('search index', () => {
  it('ranks equally on every database', () => {
    const [first, ...others] = [...rankings.values()];
    assert.equal(others.length, DIALECTS.length - 1);
    for (const other of others) assert.deepEqual(other, first);
  });
});
