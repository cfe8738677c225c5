import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import { endless, foundOf, keptLog, NEVER, providerOf, queryOf, resultOf } from './__fixtures__/queries.ts';
import { createSearch } from './search.ts';

const [A, B, C] = ['https://a.example/1', 'https://b.example/2', 'https://c.example/3'];

const failing = (name: string, error: Error = new ServiceError('upstream-failed', 'It is away.')) =>
  providerOf(name, () => {
    throw error;
  });

const urlsOf = ({ results }: { readonly results: readonly { readonly url: string }[] }) =>
  results.map(({ url }) => url);

describe('a search that wants the first answer', () => {
  it('asks in order until somebody finds something', async () => {
    const [none, some, unasked] = [
      providerOf('none', () => foundOf()),
      providerOf('some', () => foundOf(A, B)),
      providerOf('unasked', () => foundOf(C)),
    ];
    const search = createSearch({ providers: [none, some, unasked], log: keptLog() });
    assert.deepEqual(urlsOf(await search(queryOf({ breadth: 'first' }), NEVER)), [A, B]);
    assert.deepEqual([none.asked.length, unasked.asked.length], [1, 0]);
  });

  it('goes on where what was found is not what the query demands', async () => {
    const providers = [providerOf('elsewhere', () => foundOf(A)), providerOf('there', () => foundOf(B))];
    const search = createSearch({ providers, log: keptLog() });
    assert.deepEqual(urlsOf(await search(queryOf({ breadth: 'first', sites: ['b.example'] }), NEVER)), [B]);
  });

  it('ends with what is there when the time for all is over', async () => {
    const providers = [providerOf('none', () => foundOf()), endless('slow'), providerOf('unasked', () => foundOf(A))];
    const search = createSearch({ providers, log: keptLog(), timeouts: { wholeMs: 30 } });
    assert.deepEqual(urlsOf(await search(queryOf({ breadth: 'first' }), NEVER)), []);
  });
});

describe('a search that asks all', () => {
  it('merges what they find, in the same order whoever answers first', async () => {
    for (const late of ['x', 'y']) {
      const first = Promise.withResolvers<void>();
      const answer = async (name: string, ...urls: string[]) => {
        if (name === late) await first.promise;
        else first.resolve();
        return foundOf(...urls);
      };
      const providers = [providerOf('x', () => answer('x', A, B)), providerOf('y', () => answer('y', B, C))];
      const found = await createSearch({ providers, log: keptLog() })(queryOf(), NEVER);
      assert.deepEqual(urlsOf(found), [B, A, C], `late: ${late}`);
    }
  });

  it('goes on without one that fails or takes too long, and tells the log which', async () => {
    const log = keptLog();
    const providers = [
      failing('away'),
      endless('slow', true),
      failing('broken', new Error('a bug')),
      providerOf('well', () => foundOf(A)),
    ];
    const search = createSearch({ providers, log, timeouts: { providerMs: 30 } });
    assert.deepEqual(urlsOf(await search(queryOf(), NEVER)), [A]);
    const told = JSON.stringify(log.lines);
    for (const name of ['away', 'slow', 'broken']) assert.match(told, new RegExp(`"provider":"${name}"`));
    assert.doesNotMatch(told, /north sea|"well"/, 'neither the query nor whoever is well');
  });

  it('fails when all do, but not when one found nothing', async () => {
    const search = createSearch({ providers: [failing('a'), failing('b')], log: keptLog() });
    for (const breadth of ['first', 'all'] as const) {
      await assert.rejects(search(queryOf({ breadth }), NEVER), { kind: 'upstream-failed' });
    }
    const half = createSearch({ providers: [failing('a'), providerOf('b', () => foundOf())], log: keptLog() });
    assert.deepEqual(await half(queryOf(), NEVER), { results: [], findings: [] });
  });

  it('ends at once with the reason of its caller, also where a provider does not listen', async () => {
    for (const breadth of ['first', 'all'] as const) {
      const caller = new AbortController();
      const search = createSearch({ providers: [endless('deaf', true)], log: keptLog() });
      const searching = search(queryOf({ breadth }), caller.signal);
      caller.abort(new Error('gone'));
      await assert.rejects(searching, /gone/);
      await assert.rejects(search(queryOf(), caller.signal), /gone/);
    }
  });

  it('returns no more than was asked for', async () => {
    const search = createSearch({ providers: [providerOf('a', () => foundOf(A, B, C))], log: keptLog() });
    assert.deepEqual(urlsOf(await search(queryOf({ resultsMax: 2 }), NEVER)), [A, B]);
  });

  it('asks nobody for nothing', async () => {
    const provider = providerOf('a', () => foundOf(A));
    const search = createSearch({ providers: [provider], log: keptLog() });
    assert.deepEqual(await search(queryOf({ text: ' \u200b\n ' }), NEVER), { results: [], findings: [] });
    assert.equal(provider.asked.length, 0);
  });

  it('leaves one alone that wants to be asked later, for as long as it said', async () => {
    let now = 0;
    const clock = { now: () => 0, monotonic: () => now };
    const busy = failing('busy', new ServiceError('upstream-failed', 'Later.', { retryAfterSeconds: 7 }));
    const search = createSearch({ providers: [busy, providerOf('well', () => foundOf(A))], log: keptLog(), clock });
    for (const [ms, times] of [
      [0, 1],
      [6_999, 1],
      [7_001, 2],
    ] as const) {
      now = ms;
      await search(queryOf(), NEVER);
      assert.equal(busy.asked.length, times, `at ${ms}`);
    }
  });
});

describe('providers of domains', () => {
  const weather = () =>
    providerOf(
      'sky',
      () => ({ results: [resultOf(C)], findings: [{ domain: 'other', text: '<b>9 °C</b>' }] }),
      'weather',
    );

  it('are asked where that is wished, and say findings of their domain', async () => {
    const sky = weather();
    const search = createSearch({ providers: [sky, providerOf('web', () => foundOf(A))], log: keptLog() });
    assert.deepEqual((await search(queryOf(), NEVER)).findings, []);
    assert.equal(sky.asked.length, 0);
    const found = await search(queryOf({ withDomains: true }), NEVER);
    assert.deepEqual(found.findings, [{ domain: 'weather', text: '9 °C' }]);
    assert.deepEqual(urlsOf(found), [A]);
  });

  it('say their results as findings where they have none of their own', async () => {
    const providers = [providerOf('stocks', () => foundOf(B), 'stock'), providerOf('web', () => foundOf())];
    const found = await createSearch({ providers, log: keptLog() })(queryOf({ withDomains: true }), NEVER);
    assert.deepEqual(found.findings, [{ domain: 'stock', text: `Of ${B}\nWhat is said at ${B}.\n${B}` }]);
  });
});

describe('a provider of the web with documents of domains beside it', () => {
  it('is asked for these only where that is wished, whoever answers first, and each finding keeps its domain', async () => {
    const findings = [
      { domain: 'stock', text: '<b>12 up</b>' },
      { domain: ' ', text: 'of none' },
    ];
    const index = { ...providerOf('index', () => ({ results: [resultOf(B)], findings })), isOwn: true };
    const search = createSearch({ providers: [providerOf('web', () => foundOf(A)), index], log: keptLog() });
    for (const breadth of ['first', 'all'] as const) {
      assert.deepEqual((await search(queryOf({ breadth }), NEVER)).findings, []);
      const found = await search(queryOf({ breadth, withDomains: true }), NEVER);
      assert.deepEqual(found.findings, [{ domain: 'stock', text: '12 up' }]);
      assert.deepEqual(urlsOf(found), breadth === 'first' ? [A] : [A, B]);
    }
  });
});

describe('what a query demands', () => {
  const DAY = 86_400_000;
  const clock = { now: () => 1_000 * DAY, monotonic: () => 0 };
  const dated = (url: string, days: number) => resultOf(url, { publishedAt: (1_000 - days) * DAY });
  const cases = [
    ['fresh', { freshnessDays: 7 }, [A]],
    ['of a site', { sites: ['B.example'] }, [B, 'https://sub.b.example/']],
    ['of a site as an address', { sites: ['https://*.b.example/x', 'www.c.example'] }, []],
    ['not of a site', { blockedSites: ['b.example'] }, [A, C, 'https://notb.example/']],
    ['of a site that is none', { sites: ['::'] }, []],
  ] as const;
  for (const [what, demands, urls] of cases) {
    it(`is held to by us: ${what}`, async () => {
      const results = [
        dated(A, 6),
        dated(B, 8),
        resultOf(C),
        resultOf('https://sub.b.example/'),
        resultOf('https://notb.example/'),
      ];
      const providers = [providerOf('any', () => ({ results, findings: [] }))];
      const found = await createSearch({ providers, log: keptLog(), clock })(queryOf(demands), NEVER);
      assert.deepEqual(urlsOf(found), urls);
    });
  }
});

describe('what comes out of a search', () => {
  it('is text without markup, with addresses that lead to the web or to the index', async () => {
    const results = [
      resultOf('https://a.example/x', {
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
      ].map((url) => resultOf(url)),
      resultOf('parley-index:doc_1', { title: '', icon: 'https://a.example/i.png' }),
    ];
    const own = { ...providerOf('own', () => ({ results, findings: [] })), isOwn: true };
    const found = await createSearch({ providers: [own], log: keptLog() })(queryOf(), NEVER);
    const other = createSearch({ providers: [providerOf('other', () => ({ results, findings: [] }))], log: keptLog() });
    assert.deepEqual(urlsOf(await other(queryOf(), NEVER)), ['https://a.example/x'], 'others name no document of ours');
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
        passage: 'What is said at parley-index:doc_1.',
        isOwn: true,
      },
    ]);
  });

  it('is bounded', async () => {
    const results = Array.from({ length: 80 }, (_, index) =>
      resultOf(`https://a.example/${index}`, {
        title: `${index}${'t'.repeat(9_999)}`,
        passage: `${index}${'p'.repeat(99_999)}`,
      }),
    );
    const providers = [providerOf('any', () => ({ results, findings: [] }))];
    const found = await createSearch({ providers, log: keptLog() })(queryOf({ resultsMax: 1_000 }), NEVER);
    assert.ok(found.results.length <= 50);
    for (const { title, passage } of found.results) assert.ok(title.length <= 300 && passage.length <= 4_000);
  });
});
