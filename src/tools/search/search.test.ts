import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import {
  createHangingProvider,
  createTestResults,
  createRecordingLog,
  NEVER,
  createFakeProvider,
  createTestQuery,
  createTestResult,
} from './__fixtures__/test-search.ts';
import { createSearch } from './search.ts';

const [A, B, C] = ['https://a.example/1', 'https://b.example/2', 'https://c.example/3'];

const createFailingProvider = (
  name: string,
  error: Error = new ServiceError('upstream-failed', 'It is unavailable.'),
) =>
  createFakeProvider(name, () => {
    throw error;
  });

const getUrls = ({ results }: { readonly results: readonly { readonly url: string }[] }) =>
  results.map(({ url }) => url);

describe('createSearch with breadth first', () => {
  it('queries providers in order until one has results', async () => {
    const [none, some, unasked] = [
      createFakeProvider('none', () => createTestResults()),
      createFakeProvider('some', () => createTestResults(A, B)),
      createFakeProvider('unasked', () => createTestResults(C)),
    ];
    const search = createSearch({ providers: [none, some, unasked], log: createRecordingLog() });
    assert.deepEqual(getUrls(await search(createTestQuery({ breadth: 'first' }), NEVER)), [A, B]);
    assert.deepEqual([none.queries.length, unasked.queries.length], [1, 0]);
  });

  it('continues if no result matches the query', async () => {
    const providers = [
      createFakeProvider('elsewhere', () => createTestResults(A)),
      createFakeProvider('there', () => createTestResults(B)),
    ];
    const search = createSearch({ providers, log: createRecordingLog() });
    assert.deepEqual(getUrls(await search(createTestQuery({ breadth: 'first', sites: ['b.example'] }), NEVER)), [B]);
  });

  it('returns what it has when the total time is over', async () => {
    const providers = [
      createFakeProvider('none', () => createTestResults()),
      createHangingProvider('slow'),
      createFakeProvider('unasked', () => createTestResults(A)),
    ];
    const search = createSearch({ providers, log: createRecordingLog(), timeouts: { totalMs: 30 } });
    assert.deepEqual(getUrls(await search(createTestQuery({ breadth: 'first' }), NEVER)), []);
  });
});

describe('createSearch with breadth all', () => {
  it('merges results in the same order whichever provider responds first', async () => {
    for (const late of ['x', 'y']) {
      const first = Promise.withResolvers<void>();
      const answer = async (name: string, ...urls: string[]) => {
        if (name === late) await first.promise;
        else first.resolve();
        return createTestResults(...urls);
      };
      const providers = [
        createFakeProvider('x', () => answer('x', A, B)),
        createFakeProvider('y', () => answer('y', B, C)),
      ];
      const found = await createSearch({ providers, log: createRecordingLog() })(createTestQuery(), NEVER);
      assert.deepEqual(getUrls(found), [B, A, C], `late: ${late}`);
    }
  });

  it('continues without providers that fail or take too long, and logs them', async () => {
    const log = createRecordingLog();
    const providers = [
      createFailingProvider('away'),
      createHangingProvider('slow', true),
      createFailingProvider('broken', new Error('a bug')),
      createFakeProvider('well', () => createTestResults(A)),
    ];
    const search = createSearch({ providers, log, timeouts: { providerMs: 30 } });
    assert.deepEqual(getUrls(await search(createTestQuery(), NEVER)), [A]);
    const logText = JSON.stringify(log.lines);
    for (const name of ['away', 'slow', 'broken']) assert.match(logText, new RegExp(`"provider":"${name}"`));
    assert.doesNotMatch(logText, /north sea|"well"/, 'logs neither the query nor working providers');
  });

  it('fails if all providers fail, but not if one has no results', async () => {
    const search = createSearch({
      providers: [createFailingProvider('a'), createFailingProvider('b')],
      log: createRecordingLog(),
    });
    for (const breadth of ['first', 'all'] as const) {
      await assert.rejects(search(createTestQuery({ breadth }), NEVER), { kind: 'upstream-failed' });
    }
    const half = createSearch({
      providers: [createFailingProvider('a'), createFakeProvider('b', () => createTestResults())],
      log: createRecordingLog(),
    });
    assert.deepEqual(await half(createTestQuery(), NEVER), { results: [], findings: [] });
  });

  it('rejects at once with the reason of an aborted signal, also if a provider ignores it', async () => {
    for (const breadth of ['first', 'all'] as const) {
      const caller = new AbortController();
      const search = createSearch({ providers: [createHangingProvider('deaf', true)], log: createRecordingLog() });
      const searching = search(createTestQuery({ breadth }), caller.signal);
      caller.abort(new Error('gone'));
      await assert.rejects(searching, /gone/);
      await assert.rejects(search(createTestQuery(), caller.signal), /gone/);
    }
  });

  it('returns no more results than requested', async () => {
    const search = createSearch({
      providers: [createFakeProvider('a', () => createTestResults(A, B, C))],
      log: createRecordingLog(),
    });
    assert.deepEqual(getUrls(await search(createTestQuery({ resultsMax: 2 }), NEVER)), [A, B]);
  });

  it('sends no empty query', async () => {
    const provider = createFakeProvider('a', () => createTestResults(A));
    const search = createSearch({ providers: [provider], log: createRecordingLog() });
    assert.deepEqual(await search(createTestQuery({ text: ' \u200b\n ' }), NEVER), { results: [], findings: [] });
    assert.equal(provider.queries.length, 0);
  });

  it('pauses a provider for the time of its Retry-After', async () => {
    let now = 0;
    const clock = { now: () => 0, monotonic: () => now };
    const busy = createFailingProvider('busy', new ServiceError('upstream-failed', 'Later.', { retryAfterSeconds: 7 }));
    const search = createSearch({
      providers: [busy, createFakeProvider('well', () => createTestResults(A))],
      log: createRecordingLog(),
      clock,
    });
    for (const [ms, times] of [
      [0, 1],
      [6_999, 1],
      [7_001, 2],
    ] as const) {
      now = ms;
      await search(createTestQuery(), NEVER);
      assert.equal(busy.queries.length, times, `at ${ms}`);
    }
  });
});

describe('createSearch with domain providers', () => {
  const weather = () =>
    createFakeProvider(
      'sky',
      () => ({ results: [createTestResult(C)], findings: [{ domain: 'other', text: '<b>9 °C</b>' }] }),
      'weather',
    );

  it('queries them on request, and returns findings of their domain', async () => {
    const sky = weather();
    const search = createSearch({
      providers: [sky, createFakeProvider('web', () => createTestResults(A))],
      log: createRecordingLog(),
    });
    assert.deepEqual((await search(createTestQuery(), NEVER)).findings, []);
    assert.equal(sky.queries.length, 0);
    const found = await search(createTestQuery({ usesDomainProviders: true }), NEVER);
    assert.deepEqual(found.findings, [{ domain: 'weather', text: '9 °C' }]);
    assert.deepEqual(getUrls(found), [A]);
  });

  it('returns their results as findings if they have no findings', async () => {
    const providers = [
      createFakeProvider('stocks', () => createTestResults(B), 'stock'),
      createFakeProvider('web', () => createTestResults()),
    ];
    const found = await createSearch({ providers, log: createRecordingLog() })(
      createTestQuery({ usesDomainProviders: true }),
      NEVER,
    );
    assert.deepEqual(found.findings, [{ domain: 'stock', text: `Title of ${B}\nPassage of ${B}.\n${B}` }]);
  });
});

describe('createSearch with an index that has domains', () => {
  it('queries it for findings on request only, and keeps the domain of each finding', async () => {
    const findings = [
      { domain: 'stock', text: '<b>12 up</b>' },
      { domain: ' ', text: 'of none' },
    ];
    const index = { ...createFakeProvider('index', () => ({ results: [createTestResult(B)], findings })), isOwn: true };
    const search = createSearch({
      providers: [createFakeProvider('web', () => createTestResults(A)), index],
      log: createRecordingLog(),
    });
    for (const breadth of ['first', 'all'] as const) {
      assert.deepEqual((await search(createTestQuery({ breadth }), NEVER)).findings, []);
      const found = await search(createTestQuery({ breadth, usesDomainProviders: true }), NEVER);
      assert.deepEqual(found.findings, [{ domain: 'stock', text: '12 up' }]);
      assert.deepEqual(getUrls(found), breadth === 'first' ? [A] : [A, B]);
    }
  });
});

describe('createSearch filters', () => {
  const DAY = 86_400_000;
  const clock = { now: () => 1_000 * DAY, monotonic: () => 0 };
  const dated = (url: string, days: number) => createTestResult(url, { publishedAt: (1_000 - days) * DAY });
  const cases = [
    ['fresh', { freshnessDays: 7 }, [A]],
    ['of a site', { sites: ['B.example'] }, [B, 'https://sub.b.example/']],
    ['of a site as an address', { sites: ['https://*.b.example/x', 'www.c.example'] }, []],
    ['not of a site', { blockedSites: ['b.example'] }, [A, C, 'https://notb.example/']],
    ['of an invalid site', { sites: ['::'] }, []],
  ] as const;
  for (const [what, demands, urls] of cases) {
    it(`enforces the filter of the query: ${what}`, async () => {
      const results = [
        dated(A, 6),
        dated(B, 8),
        createTestResult(C),
        createTestResult('https://sub.b.example/'),
        createTestResult('https://notb.example/'),
      ];
      const providers = [createFakeProvider('any', () => ({ results, findings: [] }))];
      const found = await createSearch({ providers, log: createRecordingLog(), clock })(
        createTestQuery(demands),
        NEVER,
      );
      assert.deepEqual(getUrls(found), urls);
    });
  }
});

describe('results of createSearch', () => {
  it('are text without markup, with URLs of the web or the local index', async () => {
    const results = [
      createTestResult('https://a.example/x', {
        title: 'Tides &amp; <b>moons</b>\n\u202e',
        passage: 'One<script>alert(1)</script> <em>two</em>&lt;3<p>three\u0000\u200b</p>List<String>',
        siteName: '<i>A</i>',
        icon: 'javascript:alert(1)',
        publishedAt: Number.NaN,
      }),
      ...[
        'javascript:alert(1)',
        'file:///etc/passwd',
        'https://user:pw@a.example/',
        `https://a.example/${'x'.repeat(3_000)}`,
        '',
      ].map((url) => createTestResult(url)),
      createTestResult('parley-index:doc_1', { title: '', icon: 'https://a.example/i.png' }),
    ];
    const own = { ...createFakeProvider('own', () => ({ results, findings: [] })), isOwn: true };
    const found = await createSearch({ providers: [own], log: createRecordingLog() })(createTestQuery(), NEVER);
    const other = createSearch({
      providers: [createFakeProvider('other', () => ({ results, findings: [] }))],
      log: createRecordingLog(),
    });
    assert.deepEqual(
      getUrls(await other(createTestQuery(), NEVER)),
      ['https://a.example/x'],
      'other providers cannot return URLs of the local index',
    );
    assert.deepEqual(found.results, [
      {
        title: 'Tides & moons',
        url: 'https://a.example/x',
        siteName: 'A',
        icon: '',
        passage: 'One two<3\nthree\nList<String>',
        isOwn: true,
      },
      {
        title: 'parley-index:doc_1',
        url: 'parley-index:doc_1',
        siteName: '',
        icon: 'https://a.example/i.png',
        passage: 'Passage of parley-index:doc_1.',
        isOwn: true,
      },
    ]);
  });

  it('are limited in number and length', async () => {
    const results = Array.from({ length: 80 }, (_, index) =>
      createTestResult(`https://a.example/${index}`, {
        title: `${index}${'t'.repeat(9_999)}`,
        passage: `${index}${'p'.repeat(99_999)}`,
      }),
    );
    const providers = [createFakeProvider('any', () => ({ results, findings: [] }))];
    const found = await createSearch({ providers, log: createRecordingLog() })(
      createTestQuery({ resultsMax: 1_000 }),
      NEVER,
    );
    assert.ok(found.results.length <= 50);
    for (const { title, passage } of found.results) assert.ok(title.length <= 300 && passage.length <= 4_000);
  });
});
