import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSiteRules } from './site-rules.ts';

test('a site stands for itself and all below it, and for nothing that only ends alike', () => {
  const isOf = createSiteRules({ sites: ['Example.com', 'https://b.org/x', '127.0.0.1'] });
  for (const url of ['https://example.com/a', 'http://www.example.com:8080/', 'https://b.org', 'http://127.0.0.1:99/'])
    assert.ok(isOf(url), url);
  for (const url of [
    'https://badexample.com/',
    'https://example.com.evil.org/',
    'parley-index:docs/a',
    'no address',
    '',
  ])
    assert.ok(!isOf(url), url);
});

test('nothing comes from what is blocked, be it wanted or not', () => {
  const isOf = createSiteRules({ sites: ['example.com'], blockedSites: ['bad.example.com'] });
  assert.deepEqual(['https://example.com/', 'https://bad.example.com/', 'https://x.bad.example.com/'].map(isOf), [
    true,
    false,
    false,
  ]);
  const free = createSiteRules({ blockedSites: ['example.com'] });
  assert.deepEqual(['https://example.com./', 'https://a.org/', 'parley-index:a'].map(free), [false, true, true]);
});
