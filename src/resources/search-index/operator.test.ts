import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { mkdir, rename, rm, symlink, unlink, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { promisify } from 'node:util';
import { ServiceError } from '../../core/error.ts';
import type { ReadPage } from '../../core/server-tools.ts';
import { type IndexFolder, NOW, openIndexFolder } from './__fixtures__/index-folder.ts';
import type { RefreshReport } from './search-index.ts';

const watch = { signal: new AbortController().signal };

const countsOf = ({ added, changed, unchanged, removed, failed }: RefreshReport) => ({
  added,
  changed,
  unchanged,
  removed,
  failed,
});
const NONE = { added: 0, changed: 0, unchanged: 0, removed: 0, failed: 0 };

describe('the local index', () => {
  let index: IndexFolder;
  const pages = new Map<string, { title: string; passage: string } | ServiceError>();
  const readPage: ReadPage = async ({ url }) => {
    const page = pages.get(url) ?? new ServiceError('not-found', 'There is no such page.');
    if (page instanceof ServiceError) throw page;
    return { ...page, url: `${url}?read`, siteName: 'Site', icon: 'https://a.test/icon', publishedAt: 5 };
  };
  beforeEach(async () => {
    pages.clear();
    index = await openIndexFolder({ readPage });
  });
  afterEach(() => index.close());

  const add = async (wish: Partial<Parameters<IndexFolder['operator']['add']>[0]> = {}) =>
    await index.operator.add({ sources: [join(index.folder, 'docs')], ...wish }, watch);
  const ask = async (text: string, workspace = 'primary') => {
    const query = { text, workspace, breadth: 'first', resultsMax: 10, withDomains: false } as const;
    return (await index.search(query, watch.signal)).results;
  };
  const urls = async (text: string, workspace?: string) => (await ask(text, workspace)).map(({ url }) => url);

  it('reads a folder, and again only what has changed', async () => {
    await index.write('docs/whale.md', '# Whales\n\nThe blue whale sings.');
    await index.write('docs/deep er/frog.txt', 'A frog croaks.');
    const { name, report } = await add();
    assert.equal(name, 'docs');
    assert.deepEqual(countsOf(report), { ...NONE, added: 2 });
    assert.deepEqual(await urls('blue whale'), ['parley-index:docs/whale.md']);
    assert.deepEqual(await urls('croaking frogs'), ['parley-index:docs/deep%20er/frog.txt']);

    assert.deepEqual(countsOf((await add()).report), { ...NONE, unchanged: 2 });
    await index.write('docs/whale.md', '# Whales\n\nThe grey whale sings.');
    await unlink(join(index.folder, 'docs/deep er/frog.txt'));
    const again = await index.operator.refresh('docs', watch);
    assert.deepEqual(countsOf(again), { ...NONE, changed: 1, removed: 1 });
    assert.deepEqual(await urls('frog'), []);
    const [whale] = await ask('whale');
    assert.deepEqual(whale?.passage, '# Whales\nThe grey whale sings.');
  });

  it('tells what a reader needs, and no path of this machine', async () => {
    await index.write('docs/whale.md', 'The blue whale sings.');
    const changed = new Date(NOW - 1_000);
    await utimes(join(index.folder, 'docs/whale.md'), changed, changed);
    await add({ name: 'Meer & mehr'.replaceAll(/[ &]+/g, '-') });
    const found = await ask('whale');
    assert.deepEqual(found, [
      {
        title: 'whale',
        url: 'parley-index:Meer-mehr/whale.md',
        siteName: 'Meer-mehr',
        icon: '',
        publishedAt: NOW - 1_000,
        passage: 'The blue whale sings.',
      },
    ]);
    assert.ok(!JSON.stringify(found).includes(index.folder));
  });

  it('follows no link, opens nothing hidden, and waits for no pipe', async () => {
    await index.write('secret.md', 'secret words');
    await index.write('docs/.hidden.md', 'secret words');
    await index.write('docs/.git/a.md', 'secret words');
    await index.write('docs/a.bin', 'secret words');
    await index.write('docs/seen.md', 'seen words');
    await symlink(join(index.folder, 'secret.md'), join(index.folder, 'docs/link.md'));
    await symlink(index.folder, join(index.folder, 'docs/up'));
    await promisify(execFile)('mkfifo', [join(index.folder, 'docs/pipe.md')]);
    const { report } = await add();
    assert.deepEqual(countsOf(report), { ...NONE, added: 1 });
    assert.deepEqual(report.passedOver, { hidden: 2, links: 2, otherKinds: 2, tooDeep: 0 });
    assert.deepEqual(await urls('secret'), []);
  });

  it('says what it could not read, and goes on; what can be read no more is forgotten', async () => {
    await index.write('docs/a.md', 'apple words');
    await index.write('docs/b.md', 'berry words');
    await add();
    await index.write('docs/a.md', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]));
    await index.write('docs/empty.md', '...');
    const { report } = await add();
    assert.deepEqual(countsOf(report), { ...NONE, unchanged: 1, removed: 1, failed: 2 });
    assert.match(report.problems.map(({ reference, reason }) => `${reference} ${reason}`).join(), /a\.md .*picture/);
    assert.deepEqual(await urls('apple'), []);
    assert.deepEqual(await urls('berry'), ['parley-index:docs/b.md']);
  });

  it('keeps everything where a source is away, and where a page does not answer', async () => {
    await index.write('docs/a.md', 'apple words');
    await add();
    await rename(join(index.folder, 'docs'), join(index.folder, 'moved'));
    await assert.rejects(index.operator.refresh('docs', watch), /not there any more: nothing was removed/);
    assert.deepEqual(await urls('apple'), ['parley-index:docs/a.md']);

    pages.set('https://a.test/', { title: 'Pears', passage: 'pear words' });
    await add({ sources: ['https://a.test/'] });
    pages.set('https://a.test/', new ServiceError('timeout', 'It took too long.'));
    assert.deepEqual(countsOf(await index.operator.refresh('a.test', watch)), { ...NONE, failed: 1 });
    assert.deepEqual(await urls('pear'), ['https://a.test/?read']);
    pages.delete('https://a.test/');
    assert.deepEqual(countsOf(await index.operator.refresh('a.test', watch)), { ...NONE, failed: 1, removed: 1 });
    assert.deepEqual(await urls('pear'), []);
  });

  it('reads addresses, also those of a file of them', async () => {
    pages.set('https://a.test/one', { title: 'One', passage: 'first pear' });
    pages.set('https://b.test/two', { title: 'Two', passage: 'second pear' });
    await index.write('list.txt', '# addresses\nhttps://a.test/one\n\nhttps://b.test/two\nhttps://a.test/one\n');
    const { name, report } = await add({ sources: [join(index.folder, 'list.txt')] });
    assert.equal(name, 'list');
    assert.deepEqual(countsOf(report), { ...NONE, added: 2 });
    assert.deepEqual(await ask('first'), [
      {
        title: 'One',
        url: 'https://a.test/one?read',
        siteName: 'Site',
        icon: 'https://a.test/icon',
        publishedAt: 5,
        passage: 'first pear',
      },
    ]);
    assert.deepEqual(countsOf(await index.operator.refresh('list', watch)), { ...NONE, unchanged: 2 });
    await index.write('list.txt', 'https://b.test/two');
    assert.deepEqual(countsOf(await index.operator.refresh('list', watch)), { ...NONE, unchanged: 1, removed: 1 });
  });

  it('keeps no new collection of which nothing could be read, and any other', async () => {
    const sources = ['https://a.test/gone'];
    const names = async () => (await index.operator.list()).map(({ name }) => name);
    assert.deepEqual(countsOf((await add({ sources })).report), { ...NONE, failed: 1 });
    assert.deepEqual(await names(), []);
    await assert.rejects(
      index.operator.add({ sources }, { signal: AbortSignal.abort(new Error('stopped')) }),
      /stopped/,
    );
    assert.deepEqual(await names(), []);
    pages.set('https://a.test/one', { title: 'One', passage: 'The whale sings.' });
    await add({ sources: ['https://a.test/one', ...sources] });
    await add({ sources: ['https://a.test/other'], name: 'a.test' });
    assert.deepEqual(await names(), ['a.test']);
    await index.write('empty/skipped.bin', '');
    await add({ sources: [join(index.folder, 'empty')] });
    assert.deepEqual(await names(), ['a.test', 'empty']);
  });

  it('adds to a collection that is named, and takes no name of another one by itself', async () => {
    await index.write('docs/a.md', 'apple words');
    await index.write('other/docs/a.md', 'berry words');
    await index.write('more/b.md', 'cherry words');
    await add();
    const other = [join(index.folder, 'other/docs')];
    await assert.rejects(add({ sources: other }), /say --name/);
    await assert.rejects(add({ sources: other, name: 'docs' }), /are called docs/);
    const { report } = await add({ sources: [join(index.folder, 'more')], name: 'docs' });
    assert.deepEqual(countsOf(report), { ...NONE, added: 2, removed: 1 });
    assert.deepEqual(await urls('cherry'), ['parley-index:docs/more/b.md']);
    assert.deepEqual(await urls('apple'), ['parley-index:docs/docs/a.md']);
    await assert.rejects(add({ workspace: 'team' }), /has workspace none/);
    await assert.rejects(add({ domain: 'stock' }), /has domain none/);
  });

  it('refuses what is no source and no name before anything is written', async () => {
    const refused: [Parameters<typeof add>[0], RegExp][] = [
      [{ sources: [join(index.folder, 'nothing')] }, /no file or folder/],
      [{ sources: [] }, /what to add/],
      [{ sources: ['http://['] }, /no address/],
      [{ sources: ['/dev/null'] }, /neither a file nor a folder/],
      [{ sources: [index.folder], name: '../x' }, /is no name/],
      [{ sources: [index.folder], workspace: 'a b' }, /no name of a workspace/],
      [{ sources: [index.folder], domain: 'A B' }, /A domain is a word/],
    ];
    for (const [wish, message] of refused) await assert.rejects(add(wish), message);
    assert.deepEqual(await index.operator.list(), []);
    await assert.rejects(index.operator.remove('x'), /no collection x/);
    await assert.rejects(index.operator.refresh('x', watch), /no collection x/);
  });

  it('gives a workspace its own collections and those of all', async () => {
    await index.write('docs/a.md', 'apple words');
    await mkdir(join(index.folder, 'team'));
    await index.write('team/a.md', 'apple secrets');
    await add();
    await add({ sources: [join(index.folder, 'team')], workspace: 'team-7' });
    assert.deepEqual(await urls('apple'), ['parley-index:docs/a.md']);
    assert.deepEqual((await urls('apple', 'team-7')).toSorted(), ['parley-index:docs/a.md', 'parley-index:team/a.md']);
  });

  it('forgets a collection of hundreds of documents whole', async () => {
    for (let at = 0; at < 230; at++) await index.write(`docs/${at}.md`, `apple number${at}`);
    await add();
    const [listed] = await index.operator.list();
    assert.deepEqual([listed?.documents, listed?.passages, listed?.refreshedAt], [230, 230, NOW]);
    assert.equal((await index.operator.remove('docs')).documents, 230);
    assert.deepEqual(await index.operator.list(), []);
    assert.deepEqual(await urls('apple'), []);
    assert.equal((await index.store.indexSearch.counts(['apple'])).passages, 0);
  });

  it('stops where it is asked to, with whole documents, and goes on from there', async () => {
    for (let at = 0; at < 40; at++) await index.write(`docs/${at}.md`, `apple number${at}`);
    const stop = new AbortController();
    const onProgress = ({ done }: { done: number }) => {
      if (done === 10) stop.abort(new ServiceError('cancelled', 'Stopped.'));
    };
    const { signal } = stop;
    await assert.rejects(
      index.operator.add({ sources: [join(index.folder, 'docs')] }, { signal, onProgress }),
      /Stopped/,
    );
    const [listed] = await index.operator.list();
    assert.ok(listed && listed.documents >= 10 && listed.documents < 40);
    assert.equal(listed.refreshedAt, undefined);
    const { report } = await add();
    assert.equal(report.added + report.unchanged, 40);
    assert.ok(report.unchanged >= 10);
  });

  it('reads a document that is more than text, in a process', async () => {
    await index.write('docs/page.html', '<title>Frogs</title><script>apple()</script><p>Frogs eat apples.');
    await add();
    const [page] = await ask('apples');
    assert.deepEqual([page?.title, page?.passage], ['Frogs', 'Frogs\nFrogs eat apples.']);
  });

  it('leaves out a document that is longer than a book, and says so', async () => {
    await index.write('docs/long.md', `# apple\n\n${'a '.repeat(60)}\n\n`.repeat(2_010));
    await index.write('docs/short.md', 'apple');
    const { report } = await add();
    assert.deepEqual(countsOf(report), { ...NONE, added: 1, failed: 1 });
    assert.match(report.problems[0]?.reason ?? '', /split it/);
    await rm(join(index.folder, 'docs'), { recursive: true });
  });
});
