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

const refreshOptions = { signal: new AbortController().signal };

const getCounts = ({ added, changed, unchanged, removed, failed }: RefreshReport) => ({
  added,
  changed,
  unchanged,
  removed,
  failed,
});
const NONE = { added: 0, changed: 0, unchanged: 0, removed: 0, failed: 0 };

describe('search index operator', () => {
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

  const add = async (request: Partial<Parameters<IndexFolder['operator']['add']>[0]> = {}) =>
    await index.operator.add({ sources: [join(index.folder, 'docs')], ...request }, refreshOptions);
  const search = async (text: string, workspace = 'primary') => {
    const tenant = { region: 'cn-beijing', workspace } as const;
    const query = { text, tenant, breadth: 'first', resultsMax: 10, usesDomainProviders: false } as const;
    return (await index.search(query, refreshOptions.signal)).results;
  };
  const urls = async (text: string, workspace?: string) => (await search(text, workspace)).map(({ url }) => url);

  it('reads a folder, and later only changed documents', async () => {
    await index.write('docs/whale.md', '# Whales\n\nThe blue whale sings.');
    await index.write('docs/deep er/frog.txt', 'A frog croaks.');
    const { name, report } = await add();
    assert.equal(name, 'docs');
    assert.deepEqual(getCounts(report), { ...NONE, added: 2 });
    assert.deepEqual(await urls('blue whale'), ['parley-index:docs/whale.md']);
    assert.deepEqual(await urls('croaking frogs'), ['parley-index:docs/deep%20er/frog.txt']);

    assert.deepEqual(getCounts((await add()).report), { ...NONE, unchanged: 2 });
    await index.write('docs/whale.md', '# Whales\n\nThe grey whale sings.');
    await unlink(join(index.folder, 'docs/deep er/frog.txt'));
    const again = await index.operator.refresh('docs', refreshOptions);
    assert.deepEqual(getCounts(again), { ...NONE, changed: 1, removed: 1 });
    assert.deepEqual(await urls('frog'), []);
    const [whale] = await search('whale');
    assert.deepEqual(whale?.passage, '# Whales\nThe grey whale sings.');
  });

  it('returns sources without local paths', async () => {
    await index.write('docs/whale.md', 'The blue whale sings.');
    const changed = new Date(NOW - 1_000);
    await utimes(join(index.folder, 'docs/whale.md'), changed, changed);
    await add({ name: 'Meer & mehr'.replaceAll(/[ &]+/g, '-') });
    const found = await search('whale');
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

  it('skips links and hidden files and does not wait for pipes', async () => {
    await index.write('secret.md', 'secret words');
    await index.write('docs/.hidden.md', 'secret words');
    await index.write('docs/.git/a.md', 'secret words');
    await index.write('docs/a.bin', 'secret words');
    await index.write('docs/seen.md', 'seen words');
    await symlink(join(index.folder, 'secret.md'), join(index.folder, 'docs/link.md'));
    await symlink(index.folder, join(index.folder, 'docs/up'));
    await promisify(execFile)('mkfifo', [join(index.folder, 'docs/pipe.md')]);
    const { report } = await add();
    assert.deepEqual(getCounts(report), { ...NONE, added: 1 });
    assert.deepEqual(report.skipped, { hidden: 2, links: 2, otherKinds: 2, tooDeep: 0 });
    assert.deepEqual(await urls('secret'), []);
  });

  it('reports unreadable documents, continues, and removes their old content', async () => {
    await index.write('docs/a.md', 'apple words');
    await index.write('docs/b.md', 'berry words');
    await add();
    await index.write('docs/a.md', Buffer.from([0x89, 0x50, 0x4e, 0x47, 0, 1]));
    await index.write('docs/empty.md', '...');
    const { report } = await add();
    assert.deepEqual(getCounts(report), { ...NONE, unchanged: 1, removed: 1, failed: 2 });
    assert.match(report.problems.map(({ reference, reason }) => `${reference} ${reason}`).join(), /a\.md .*picture/);
    assert.deepEqual(await urls('apple'), []);
    assert.deepEqual(await urls('berry'), ['parley-index:docs/b.md']);
  });

  it('keeps documents of a missing source and of a page that does not respond', async () => {
    await index.write('docs/a.md', 'apple words');
    await add();
    await rename(join(index.folder, 'docs'), join(index.folder, 'moved'));
    await assert.rejects(index.operator.refresh('docs', refreshOptions), /no longer exists\. Nothing was removed/);
    assert.deepEqual(await urls('apple'), ['parley-index:docs/a.md']);

    pages.set('https://a.test/', { title: 'Pears', passage: 'pear words' });
    await add({ sources: ['https://a.test/'] });
    pages.set('https://a.test/', new ServiceError('timeout', 'It took too long.'));
    assert.deepEqual(getCounts(await index.operator.refresh('a.test', refreshOptions)), { ...NONE, failed: 1 });
    assert.deepEqual(await urls('pear'), ['https://a.test/?read']);
    pages.delete('https://a.test/');
    assert.deepEqual(getCounts(await index.operator.refresh('a.test', refreshOptions)), {
      ...NONE,
      failed: 1,
      removed: 1,
    });
    assert.deepEqual(await urls('pear'), []);
  });

  it('reads URLs, also from a file that lists them', async () => {
    pages.set('https://a.test/one', { title: 'One', passage: 'first pear' });
    pages.set('https://b.test/two', { title: 'Two', passage: 'second pear' });
    await index.write('list.txt', '# addresses\nhttps://a.test/one\n\nhttps://b.test/two\nhttps://a.test/one\n');
    const { name, report } = await add({ sources: [join(index.folder, 'list.txt')] });
    assert.equal(name, 'list');
    assert.deepEqual(getCounts(report), { ...NONE, added: 2 });
    assert.deepEqual(await search('first'), [
      {
        title: 'One',
        url: 'https://a.test/one?read',
        siteName: 'Site',
        icon: 'https://a.test/icon',
        publishedAt: 5,
        passage: 'first pear',
      },
    ]);
    assert.deepEqual(getCounts(await index.operator.refresh('list', refreshOptions)), { ...NONE, unchanged: 2 });
    await index.write('list.txt', 'https://b.test/two');
    assert.deepEqual(getCounts(await index.operator.refresh('list', refreshOptions)), {
      ...NONE,
      unchanged: 1,
      removed: 1,
    });
  });

  it('removes a new collection without readable documents, and keeps others', async () => {
    const sources = ['https://a.test/gone'];
    const names = async () => (await index.operator.list()).map(({ name }) => name);
    assert.deepEqual(getCounts((await add({ sources })).report), { ...NONE, failed: 1 });
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

  it('adds to a named collection, and refuses a default name that is taken', async () => {
    await index.write('docs/a.md', 'apple words');
    await index.write('other/docs/a.md', 'berry words');
    await index.write('more/b.md', 'cherry words');
    await add();
    const other = [join(index.folder, 'other/docs')];
    await assert.rejects(add({ sources: other }), /Set --name/);
    await assert.rejects(add({ sources: other, name: 'docs' }), /have the name docs/);
    const { report } = await add({ sources: [join(index.folder, 'more')], name: 'docs' });
    assert.deepEqual(getCounts(report), { ...NONE, added: 2, removed: 1 });
    assert.deepEqual(await urls('cherry'), ['parley-index:docs/more/b.md']);
    assert.deepEqual(await urls('apple'), ['parley-index:docs/docs/a.md']);
    await assert.rejects(add({ region: 'cn-beijing', workspace: 'team' }), /has workspace none/);
    await assert.rejects(add({ domain: 'stock' }), /has domain none/);
    await assert.rejects(add({ region: 'cn-beijing' }), /has region none/);
  });

  it('takes the region of a new collection of a workspace from the configuration, and leaves older ones as they are', async () => {
    await index.write('docs/a.md', 'apple words');
    const team = { workspace: 'team-7', workspaceRegion: 'us-east-1' } as const;
    await add({ ...team, name: 'new' });
    const listed = await index.operator.list();
    assert.deepEqual(
      listed.map(({ region }) => region),
      ['us-east-1'],
    );
    // A collection from before regions were stored.
    const collection = (await index.store.indexCollections.find('new')) ?? assert.fail();
    await index.store.indexCollections.insert({ ...collection, name: 'old', region: undefined });
    await add({ ...team, name: 'old' });
    await add({ workspace: 'team-7', name: 'old' });
    assert.equal((await index.store.indexCollections.find('old'))?.region, undefined);
  });

  it('refuses invalid sources and names before writing anything', async () => {
    const refused: [Parameters<typeof add>[0], RegExp][] = [
      [{ sources: [join(index.folder, 'nothing')] }, /does not exist/],
      [{ sources: [] }, /what to add/],
      [{ sources: ['http://['] }, /not a valid URL/],
      [{ sources: ['/dev/null'] }, /neither a file nor a folder/],
      [{ sources: [index.folder], name: '../x' }, /not a valid name/],
      [{ sources: [index.folder], workspace: 'a b' }, /valid workspace name/],
      [{ sources: [index.folder], workspace: 'team-7' }, /belongs to a region: name it with --region/],
      [{ sources: [index.folder], domain: 'A B' }, /domain must be/],
    ];
    for (const [request, message] of refused) await assert.rejects(add(request), message);
    assert.deepEqual(await index.operator.list(), []);
    await assert.rejects(index.operator.remove('x'), /Collection x not found/);
    await assert.rejects(index.operator.refresh('x', refreshOptions), /Collection x not found/);
  });

  it('searches the collections of the workspace and those of all workspaces', async () => {
    await index.write('docs/a.md', 'apple words');
    await mkdir(join(index.folder, 'team'));
    await index.write('team/a.md', 'apple secrets');
    await add();
    await add({ sources: [join(index.folder, 'team')], region: 'cn-beijing', workspace: 'team-7' });
    assert.deepEqual(await urls('apple'), ['parley-index:docs/a.md']);
    assert.deepEqual((await urls('apple', 'team-7')).toSorted(), ['parley-index:docs/a.md', 'parley-index:team/a.md']);
  });

  it('removes a collection of hundreds of documents', async () => {
    for (let at = 0; at < 230; at++) await index.write(`docs/${at}.md`, `apple number${at}`);
    await add();
    const [listed] = await index.operator.list();
    assert.deepEqual([listed?.documents, listed?.passages, listed?.refreshedAt], [230, 230, NOW]);
    assert.equal((await index.operator.remove('docs')).documents, 230);
    assert.deepEqual(await index.operator.list(), []);
    assert.deepEqual(await urls('apple'), []);
    assert.equal((await index.store.indexSearch.countTerms(['apple'])).passages, 0);
  });

  it('stops on abort with complete documents and continues later', async () => {
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

  it('extracts text from other formats in a separate process', async () => {
    await index.write('docs/page.html', '<title>Frogs</title><script>apple()</script><p>Frogs eat apples.');
    await add();
    const [page] = await search('apples');
    assert.deepEqual([page?.title, page?.passage], ['Frogs', 'Frogs\nFrogs eat apples.']);
  });

  it('reports a document with too many passages and skips it', async () => {
    await index.write('docs/long.md', `# apple\n\n${'a '.repeat(60)}\n\n`.repeat(2_010));
    await index.write('docs/short.md', 'apple');
    const { report } = await add();
    assert.deepEqual(getCounts(report), { ...NONE, added: 1, failed: 1 });
    assert.match(report.problems[0]?.reason ?? '', /Split it/);
    await rm(join(index.folder, 'docs'), { recursive: true });
  });
});
