import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createSiteMatcher } from './site-filter.ts';

test('a site matches itself and its subdomains, but no other host with the same ending', () => {
  const isOnSite = createSiteMatcher({ sites: ['Example.com', 'https://b.org/x', '127.0.0.1'] });
  for (const url of ['https://example.com/a', 'http://www.example.com:8080/', 'https://b.org', 'http://127.0.0.1:99/'])
    assert.ok(isOnSite(url), url);
  for (const url of [
    'https://badexample.com/',
    'https://example.com.evil.org/',
    'parley-index:docs/a',
    'no address',
    '',
  ])
    assert.ok(!isOnSite(url), url);
});

test('a blocked site is rejected, even when it is below an allowed site', () => {
  const isOnSite = createSiteMatcher({ sites: ['example.com'], blockedSites: ['bad.example.com'] });
  assert.deepEqual(['https://example.com/', 'https://bad.example.com/', 'https://x.bad.example.com/'].map(isOnSite), [
    true,
    false,
    false,
  ]);
  const free = createSiteMatcher({ blockedSites: ['example.com'] });
  assert.deepEqual(['https://example.com./', 'https://a.org/', 'parley-index:a'].map(free), [false, true, true]);
});
