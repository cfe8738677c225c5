import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { resultOf } from './__fixtures__/queries.ts';
import { fuse } from './fuse.ts';
import { addressKey } from './same-page.ts';

const urlsOf = (lists: Parameters<typeof fuse>[0]) => fuse(lists).map(({ url }) => url);

const page = (name: string) => resultOf(`https://${name}.example/`);

describe('reciprocal rank fusion', () => {
  it('puts what two find before what one finds first, and breaks ties by place and by list', () => {
    const [a, b, c, d] = [page('a'), page('b'), page('c'), page('d')];
    assert.deepEqual(
      urlsOf([
        [a, b],
        [c, b, d],
      ]),
      [b, a, c, d].map(({ url }) => url),
    );
  });

  it('adds 1/(60 + place) of each list: 1 and 62 are less than 2 and 3', () => {
    const far = Array.from({ length: 61 }, (_, index) => page(`far${index}`));
    const [x, y] = [page('x'), page('y')];
    const [list, other] = [[x, y, ...far], [far[0], far[1], y, ...far.slice(2), x].flatMap((one) => one ?? [])];
    const order = urlsOf([list, other]);
    assert.ok(order.indexOf(y.url) < order.indexOf(x.url));
  });

  it('does not depend on the order of the lists, but for what is equal', () => {
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
          const fused = fuse(order.map((list) => list.map((name) => page(name))));
          assert.equal(fused.length, scores.size, 'each page once');
          const values = fused.map(({ url }) => scores.get(url.slice(8, 9)) ?? 0);
          for (const [at, value] of values.entries()) assert.ok(at === 0 || value <= (values[at - 1] ?? 0) + 1e-12);
        }
      }),
    );
  });

  it('knows whose words a passage is', () => {
    const url = 'https://one.example/a';
    const own = { ...resultOf(url, { passage: 'A passage of the document.' }), isOwn: true as const };
    const told = resultOf(url, { passage: 'What a provider says of the page, at greater length.' });
    for (const [lists, isOwn] of [
      [[[own], [told]], undefined],
      [[[told], [own]], undefined],
      [[[own], [{ ...told, passage: 'Short.' }]], true],
      [[[{ ...told, passage: 'Short.' }], [own]], true],
    ] as const)
      assert.equal(fuse(lists)[0]?.isOwn, isOwn);
  });

  it('finds the same doubles whatever comes first', () => {
    const text = 'The moon pulls the water of the sea towards it, and so there is a tide on either side of the earth. ';
    const pages = [
      resultOf('https://www.one.example/a/?utm_source=x#top', { passage: text.repeat(2) }),
      resultOf('http://one.example/a', { passage: 'short' }),
      resultOf('https://two.example/copy', { passage: `${text.repeat(2)} Twice.` }),
      resultOf('https://two.example/other', {
        passage: 'Of something else that is long enough to be known by its words, surely.',
      }),
    ];
    fc.assert(
      fc.property(fc.shuffledSubarray(pages, { minLength: 4 }), fc.integer({ min: 1, max: 4 }), (order, parts) => {
        const lists = Array.from({ length: parts }, (_, part) =>
          order.filter((_result, index) => index % parts === part),
        );
        const other = fuse(lists).filter(({ url }) => url === 'https://two.example/other');
        assert.equal(other.length, 1);
        assert.equal(fuse(lists).length, 2);
      }),
    );
  });
});

describe('what counts as the same page', () => {
  const same: readonly (readonly [string, string])[] = [
    ['https://a.example/x/', 'http://www.A.example:80/x'],
    ['https://a.example/x?b=2&a=1', 'https://a.example/x?a=1&b=2#part'],
    ['https://a.example/x?id=1&utm_medium=mail&fbclid=q', 'https://a.example/x?id=1'],
    ['https://a.example/index.html', 'https://a.example'],
  ];
  for (const [one, other] of same) it(`${one} is ${other}`, () => assert.equal(addressKey(one), addressKey(other)));

  const different: readonly (readonly [string, string])[] = [
    ['https://a.example/x?id=1', 'https://a.example/x?id=2'],
    ['https://a.example/x', 'https://a.example/X'],
    ['https://a.example:8080/', 'https://a.example/'],
    ['parley-index:a', 'parley-index:b'],
  ];
  for (const [one, other] of different) {
    it(`${one} is not ${other}`, () => assert.notEqual(addressKey(one), addressKey(other)));
  }

  it('a title that says something, on one site', () => {
    const title = 'The tides of the sea';
    const of = (url: string, more = {}) => resultOf(url, { title, ...more });
    assert.equal(
      fuse([[of('https://a.example/1'), of('https://a.example/2', { title: 'The Tides of the Sea!' })]]).length,
      1,
    );
    assert.equal(fuse([[of('https://a.example/1'), of('https://b.example/1')]]).length, 2);
    assert.equal(
      fuse([[of('https://a.example/1', { title: 'FAQ' }), of('https://a.example/2', { title: 'FAQ' })]]).length,
      2,
    );
  });

  it('no title of documents of our own, of which many are called the same', () => {
    const of = (path: string) => resultOf(`parley-index:${path}`, { title: 'Introduction', passage: `Of ${path}.` });
    assert.equal(fuse([[of('docs/pumps.md'), of('docs/valves.md'), of('other/pumps.md')]]).length, 3);
  });

  it('the first of doubles stands for them, with what the others know of the same address', () => {
    const [one, other] = [
      resultOf('https://a.example/1', { passage: 'short' }),
      resultOf('http://a.example/1/', {
        siteName: 'A',
        icon: 'https://a.example/i',
        publishedAt: 5,
        passage: 'much longer',
      }),
    ];
    assert.deepEqual(fuse([[one], [other]]), [
      { ...one, siteName: 'A', icon: 'https://a.example/i', publishedAt: 5, passage: 'much longer' },
    ]);
  });
});
