import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { findLanguage } from './languages.ts';
import { withTermsReplaced, withWordings, withoutDoubling } from './term-marks.ts';
import { createTermFinder, showsWording, withWantedCase } from './terms.ts';

const found = (text: string, ...sources: string[]): string[] =>
  createTermFinder(sources.map((source) => ({ source, target: 'x' })))(text).map(({ source }) => source);

describe('a term of the source', () => {
  it('is found as whole words in any case, over any blanks', () => {
    assert.deepEqual(found('The City  Park is big.', 'city park', 'CAR'), ['city park']);
    assert.deepEqual(found('Scary parking carts', 'car', 'park'), []);
    assert.deepEqual(found('C++ and .NET', 'c++', '.net', 'NE'), ['.net', 'c++']);
    assert.deepEqual(found('cafe\u0301'.normalize('NFC'), 'cafe\u0301'), ['café']);
  });

  it('is found inside what is written together without blanks', () => {
    assert.deepEqual(found('我们使用API接口在公园里', '公园', 'api'), ['api', '公园']);
    assert.deepEqual(found('공원에 갑니다', '공원'), ['공원']);
    assert.deepEqual(found('والحديقة كبيرة', 'حديقة'), ['حديقة']);
  });

  it('is not found where it is part of a longer one only', () => {
    assert.deepEqual(found('a park bench', 'park', 'park bench'), ['park bench']);
    assert.deepEqual(found('a park bench in the park', 'park', 'park bench'), ['park bench', 'park']);
  });

  it('that says nothing is none, and of two for the same wording the first counts', () => {
    const terms = [
      { source: ' ', target: 'x' },
      { source: 'a', target: ' ' },
      { source: 'b', target: 'one' },
      { source: 'B', target: 'two' },
    ];
    assert.deepEqual(
      createTermFinder(terms)('a b').map(({ target }) => target),
      ['one'],
    );
  });
});

describe('a wording of the target', () => {
  it('is shown as whole words, the last with a short ending if it is not short itself', () => {
    for (const [text, wording] of [
      ['Der Stadtgarten ist offen', 'stadtgarten'],
      ['des Stadtgartens', 'Stadtgarten'],
      ['派件将到达', '派件'],
      ['La MÉDIATHÈQUE', 'médiathèque'],
    ] as const)
      assert.ok(showsWording(text, wording), text);
    for (const [text, wording] of [
      ['automatique', 'auto'],
      ['Stadtgartenzaun', 'Stadtgarten'],
      ['cars', 'car'],
      ['Park', 'Stadtgarten'],
    ] as const)
      assert.ok(!showsWording(text, wording), text);
  });
});

it('wordings get the case that is wanted, and may begin a sentence', () => {
  const terms = [
    { source: 'a', target: 'City Green' },
    { source: 'b', target: 'médiathèque' },
    { source: 'c', target: 'API' },
  ];
  assert.equal(
    withWantedCase('In the city green. Médiathèque or MÉDIATHÈQUEs, apis.', terms),
    'In the City Green. Médiathèque or Médiathèques, apis.',
  );
});

describe('wordings put into the source', () => {
  const terms = createTermFinder([
    { source: 'park', target: 'Stadtgarten' },
    { source: 'main road', target: 'Allee' },
  ])('A park at the main road. Park!');
  const german = findLanguage('de', 'all') ?? assert.fail();

  it('stand in brackets behind each place, or in its place', () => {
    const text = 'A park at the main road. Park!';
    assert.equal(withWordings(text, terms), 'A park (Stadtgarten) at the main road (Allee). Park (Stadtgarten)!');
    assert.equal(withTermsReplaced(text, terms), 'A Stadtgarten at the Allee. Stadtgarten!');
  });

  for (const [translated, once] of [
    ['Ein Park (Stadtgarten) ist da.', 'Ein Stadtgarten ist da.'],
    ['Ein Stadtgarten (Stadtgarten) ist da.', 'Ein Stadtgarten ist da.'],
    ['Ein Stadtgarten(park) ist da.', 'Ein Stadtgarten ist da.'],
    ['Ein park (Stadtgarten) an der großen Straße (Allee).', 'Ein Stadtgarten an der Allee.'],
    ['(Stadtgarten) ist da.', 'Stadtgarten ist da.'],
    ['Da, (Stadtgarten) ist da.', 'Da, Stadtgarten ist da.'],
    ['Der Garten（ Stadtgartens ）', 'Der Stadtgartens'],
    ['Ein Park (groß) ist da.', 'Ein Park (groß) ist da.'],
  ] as const)
    it(`are said once of ${translated}`, () => assert.equal(withoutDoubling(translated, terms, german), once));

  it('are said once in writing without blanks', () => {
    const chinese = findLanguage('Chinese', 'all') ?? assert.fail();
    const delivery = createTermFinder([{ source: 'delivery', target: '派件' }])('The delivery comes.');
    assert.equal(withoutDoubling('快递（派件）明天到。', delivery, chinese), '派件明天到。');
    assert.equal(withoutDoubling('派件（派件）明天到。', delivery, chinese), '派件明天到。');
  });
});

it('thousands of terms take no time that others would notice', () => {
  const terms = Array.from({ length: 2_000 }, (_, at) => ({ source: `word${at} thing`, target: `Wort${at}` }));
  const find = createTermFinder(terms);
  const text = 'The quick brown fox jumps over the lazy dog and word7 thing. '.repeat(10);
  const started = performance.now();
  assert.equal(find(text).length, 1);
  assert.ok(performance.now() - started < 500, `${performance.now() - started} ms`);
});
