import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSignedLinks } from './signed-links.ts';

const FORBIDDEN = { kind: 'forbidden' };

test('a link is valid for its file and path, until it expires, and as long as its key is', async () => {
  let now = 1_000_000;
  const active = new Set(['key_a', 'key_b']);
  const deps = {
    secret: 's',
    getBaseUrl: () => 'https://h',
    lifetimeSeconds: 60,
    isKeyActive: async (id: string) => active.has(id),
    clock: { now: () => now, monotonic: () => now },
  };
  const links = createSignedLinks({ ...deps, path: '/downloads' });
  const others = createSignedLinks({ ...deps, path: '/transcripts' });
  const read = (keyId: string): URLSearchParams => {
    const url = new URL(links.createLink({ id: 'file-1', region: 'cn-beijing', keyId }));
    assert.equal(url.origin + url.pathname, 'https://h/downloads/file-1');
    return url.searchParams;
  };
  const query = read('key_a');
  assert.equal(await links.check('file-1', query), 'key_a');
  await assert.rejects(links.check('file-2', query), FORBIDDEN);
  await assert.rejects(others.check('file-1', query), FORBIDDEN);
  for (const name of ['expires', 'key', 'signature']) {
    const changed = new URLSearchParams(query);
    changed.set(name, 'key_b');
    await assert.rejects(links.check('file-1', changed), FORBIDDEN, name);
    changed.delete(name);
    await assert.rejects(links.check('file-1', changed), FORBIDDEN, name);
  }
  active.delete('key_a');
  await assert.rejects(links.check('file-1', query), {
    ...FORBIDDEN,
    message: /The key that made this link is not valid any more/,
  });
  await links.check('file-1', read('key_b'));
  const late = read('key_b');
  now += 61_000;
  await assert.rejects(links.check('file-1', late), { ...FORBIDDEN, message: /expired/ });
});
