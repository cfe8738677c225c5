import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createTestResult } from './__fixtures__/test-search.ts';
import { fuseResults } from './fuse-results.ts';
import { getUrlKey } from './duplicate-keys.ts';

const getFusedUrls = (lists: Parameters<typeof fuseResults>[0]) => fuseResults(lists).map(({ url }) => url);

const createPageResult = (name: string) => createTestResult(`https://${name}.example/`);

describe('fuseResults', () => {
  it('ranks a result of two lists above the first of one, and breaks ties by rank and list', () => {
    const [a, b, c, d] = [createPageResult('a'), createPageResult('b'), createPageResult('c'), createPageResult('d')];
    assert.deepEqual(
      getFusedUrls([
        [a, b],
        [c, b, d],
      ]),
      [b, a, c, d].map(({ url }) => url),
    );
  });

  it('adds 1/(60 + rank) per list: ranks 2 and 3 beat ranks 1 and 62', () => {
    const far = Array.from({ length: 61 }, (_, index) => createPageResult(`far${index}`));
    const [x, y] = [createPageResult('x'), createPageResult('y')];
    const [list, other] = [[x, y, ...far], [far[0], far[1], y, ...far.slice(2), x].flatMap((one) => one ?? [])];
    const order = getFusedUrls([list, other]);
    assert.ok(order.indexOf(y.url) < order.indexOf(x.url));
  });

  it('does not depend on the order of the lists, except for ties', () => {
    const names = fc.uniqueArray(fc.constantFrom(...'abcdefgh'), { maxLength: 8 });
    fc.assert(
      fc.property(fc.array(names, { maxLength: 4 }), (lists) => {
        const score = (order: readonly (readonly string[])[]) => {
          const scores = new Map<string, number>();
          for (const list of order) {
            for (const [place, name] of list.entries()) scores.set(name, (scores.get(name) ?? 0) + 1 / (61 + place));
          }
          return scores;
        };
        for (const order of [lists, lists.toSorted((one, other) => one.length - other.length), lists.toReversed()]) {
          const scores = score(order);
          const fused = fuseResults(order.map((list) => list.map((name) => createPageResult(name))));
          assert.equal(fused.length, scores.size, 'each page once');
          const values = fused.map(({ url }) => scores.get(url.slice(8, 9)) ?? 0);
          for (const [at, value] of values.entries()) assert.ok(at === 0 || value <= (values[at - 1] ?? 0) + 1e-12);
        }
      }),
    );
  });

  it('marks a merged passage as local only if it is', () => {
    const url = 'https://one.example/a';
    const indexed = { ...createTestResult(url, { passage: 'A passage of the document.' }), isOwn: true as const };
    const remote = createTestResult(url, { passage: 'What a provider says of the page, at greater length.' });
    for (const [lists, isOwn] of [
      [[[indexed], [remote]], undefined],
      [[[remote], [indexed]], undefined],
      [[[indexed], [{ ...remote, passage: 'Short.' }]], true],
      [[[{ ...remote, passage: 'Short.' }], [indexed]], true],
    ] as const)
      assert.equal(fuseResults(lists)[0]?.isOwn, isOwn);
  });

  it('finds the same duplicates in any order', () => {
    const text = 'The moon pulls the water of the sea towards it, and so there is a tide on either side of the earth. ';
    const pages = [
      createTestResult('https://www.one.example/a/?utm_source=x#top', { passage: text.repeat(2) }),
      createTestResult('http://one.example/a', { passage: 'short' }),
      createTestResult('https://two.example/copy', { passage: `${text.repeat(2)} Twice.` }),
      createTestResult('https://two.example/other', {
        passage: 'Of something else that is long enough to be known by its words, surely.',
      }),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(pages, { minLength: 4 }), fc.integer({ min: 1, max: 4 }), (order, parts) => {
        const lists = Array.from({ length: parts }, (_, part) =>
          order.filter((_result, index) => index % parts === part),
        );
        const other = fuseResults(lists).filter(({ url }) => url === 'https://two.example/other');
        assert.equal(other.length, 1);
        assert.equal(fuseResults(lists).length, 2);
      }),
    );
  });
});

describe('duplicate pages', () => {
  const same: readonly (readonly [string, string])[] = [
    ['https://a.example/x/', 'http://www.A.example:80/x'],
    ['https://a.example/x?b=2&a=1', 'https://a.example/x?a=1&b=2#part'],
    ['https://a.example/x?id=1&utm_medium=mail&fbclid=q', 'https://a.example/x?id=1'],
    ['https://a.example/index.html', 'https://a.example'],
  ];
  for (const [one, other] of same)
    it(`treats ${one} and ${other} as the same page`, () => assert.equal(getUrlKey(one), getUrlKey(other)));

  const different: readonly (readonly [string, string])[] = [
    ['https://a.example/x?id=1', 'https://a.example/x?id=2'],
    ['https://a.example/x', 'https://a.example/X'],
    ['https://a.example:8080/', 'https://a.example/'],
    ['parley-index:a', 'parley-index:b'],
  ];
  for (const [one, other] of different) {
    it(`treats ${one} and ${other} as different pages`, () => assert.notEqual(getUrlKey(one), getUrlKey(other)));
  }

  it('merges pages of one site with the same distinctive title', () => {
    const title = 'The tides of the sea';
    const of = (url: string, more = {}) => createTestResult(url, { title, ...more });
    assert.equal(
      fuseResults([[of('https://a.example/1'), of('https://a.example/2', { title: 'The Tides of the Sea!' })]]).length,
      1,
    );
    assert.equal(fuseResults([[of('https://a.example/1'), of('https://b.example/1')]]).length, 2);
    assert.equal(
      fuseResults([[of('https://a.example/1', { title: 'FAQ' }), of('https://a.example/2', { title: 'FAQ' })]]).length,
      2,
    );
  });

  it('does not merge documents of the local index by their titles', () => {
    const of = (path: string) =>
      createTestResult(`parley-index:${path}`, { title: 'Introduction', passage: `Of ${path}.` });
    assert.equal(fuseResults([[of('docs/pumps.md'), of('docs/valves.md'), of('other/pumps.md')]]).length, 3);
  });

  it('keeps the first duplicate and completes it from results with the same URL', () => {
    const [one, other] = [
      createTestResult('https://a.example/1', { passage: 'short' }),
      createTestResult('http://a.example/1/', {
        siteName: 'A',
        icon: 'https://a.example/i',
        publishedAt: 5,
        passage: 'much longer',
      }),
    ];
    assert.deepEqual(fuseResults([[one], [other]]), [
      { ...one, siteName: 'A', icon: 'https://a.example/i', publishedAt: 5, passage: 'much longer' },
    ]);
  });
});
