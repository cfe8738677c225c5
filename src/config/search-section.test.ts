import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../core/error.ts';
import { loadConfig } from './load-config.ts';

const loadSearchSection = (section: string) =>
  loadConfig({
    env: { PARLEY_DATA: '/srv/parley' },
    readFile: () => `search:\n  ${section.replaceAll('\n', '\n  ')}\n`,
    folder: '/srv',
    cores: 2,
  }).config.search;

describe('the section `search`', () => {
  it('uses only the local index by default', () => {
    const { search } = loadConfig({
      env: { PARLEY_DATA: '/srv/parley' },
      readFile: () => undefined,
      folder: '/srv',
      cores: 2,
    }).config;
    assert.deepEqual(search.providers, [{ type: 'index' }]);
    assert.deepEqual(search.pages, { bytesMax: 5 * 1024 * 1024, charsMax: 40_000, allow: [] });
  });

  it('accepts every type of provider, in order', () => {
    const { providers } = loadSearchSection(`providers:
  - {type: brave, apiKeyEnv: BRAVE_KEY, country: DE, language: de}
  - {type: index}
  - {type: searxng, url: 'http://10.0.0.5:8888/searx', domain: weather, categories: [weather]}
  - {type: tavily, apiKeyEnv: TAVILY_KEY, name: second}
  - {type: mediawiki, url: 'https://wiki.example/w'}
  - {type: kiwix, url: 'http://127.0.0.1:8080', language: eng, books: [a, b]}`);
    assert.deepEqual(
      providers.map(({ type }) => type),
      ['brave', 'index', 'searxng', 'tavily', 'mediawiki', 'kiwix'],
    );
    assert.ok(providers[0]?.type === 'brave' && providers[0].url === 'https://api.search.brave.com');
  });

  const wrong: readonly (readonly [section: string, message: RegExp])[] = [
    ['providers: [{type: google}]', /search\.providers\.0\.type must have a type: index, searxng/],
    ['providers: [{type: searxng}]', /search\.providers\.0\.url must be a string, got nothing/],
    ['providers: [{type: searxng, url: "ftp://a.example"}]', /must be a URL that starts with http/],
    ['providers: [{type: searxng, url: "https://u:pw@a.example"}]', /without user, password and query/],
    ['providers: [{type: brave}]', /search\.providers\.0\.apiKeyEnv must be a string/],
    ['providers: [{type: brave, apiKeyEnv: "BSA-secret"}]', /must be the name of an environment variable, not a key/],
    ['providers: [{type: index, apiKey: x}]', /search\.providers\.0\.apiKey is not a setting \(/],
    ['pages: {charsMax: 3}', /must be a whole number from 500 to 200000/],
    ['page: {}', /did you mean pages/],
    ['contact: "two words"', /must be an address without spaces/],
  ];
  for (const [section, message] of wrong) {
    it(`rejects ${section}`, () => {
      assert.throws(
        () => loadSearchSection(section),
        (thrown) => {
          assert.ok(thrown instanceof ServiceError);
          assert.match(thrown.message, message);
          assert.doesNotMatch(thrown.message, /u:pw@/);
          return true;
        },
      );
    });
  }
});
