import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuMsOf } from '../../../test/cpu-ms.ts';
import { findLanguage } from './languages.ts';
import { withTermsReplaced, withWordings, withoutDoubling } from './term-marks.ts';
import { createTermFinder, lackOf, wordingPlaces, withWantedCase } from './terms.ts';

const showsWording = (text: string, target: string): boolean =>
  wordingPlaces(text, [{ target }]).get(target)?.length === 1;

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
      ['IPhone her!', 'iPhone'],
      ['Der City  Green', 'City Green'],
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
      ['Let us go', 'US'],
      ['In other words', 'Word'],
      ['DIE CITY GREEN', 'City Green'],
      ['see [1]', '1'],
    ] as const)
      assert.ok(!showsWording(text, wording), text);
  });
});

describe('the case of a wording', () => {
  const terms = ['City Green', 'médiathèque', 'API', 'US', 'Word'].map((target) => ({ target }));
  for (const [text, written] of [
    ['In the city green. Médiathèque.', 'In the City Green. Médiathèque.'],
    ['In the city green, not in the City Green.', 'In the city green, not in the City Green.'],
    ['DIE CITY GREEN IST DA, MÉDIATHÈQUE', 'DIE CITY GREEN IST DA, MÉDIATHÈQUE'],
    ['Two city greens, apis', 'Two city greens, apis'],
    ['In other words, Word is open. Let us go there.', 'In other words, Word is open. Let us go there.'],
  ] as const)
    it(`of ${text}`, () => assert.equal(withWantedCase(text, terms), written));
});

describe('what lacks a wording', () => {
  const lacking = (text: string, terms: Record<string, string>, line: string): readonly (string | number)[] => {
    const pairs = Object.entries(terms).map(([source, target]) => ({ source, target }));
    const { missed, places } = lackOf(line, createTermFinder(pairs)(text));
    return [...missed.map(({ source }) => source), places];
  };

  it('is a term that stands more often in the source', () => {
    const terms = { park: 'Stadtgarten' };
    assert.deepEqual(lacking('The park is near the other park.', terms, 'Der Stadtgarten beim Park.'), ['park', 1]);
    assert.deepEqual(lacking('The park, the park.', terms, 'Des Stadtgartens, der Stadtgarten.'), [0]);
  });

  it('is a term that is shown in the wording of a longer one only', () => {
    const terms = { hall: 'Halle', 'town hall': 'Stadt Halle' };
    assert.deepEqual(lacking('The town hall has a hall.', terms, 'Die Stadt Halle.'), ['hall', 1]);
    assert.deepEqual(lacking('The town hall has a hall.', terms, 'Die Stadt Halle hat eine Halle.'), [0]);
  });

  it('are terms of one wording that is there less often than they are together', () => {
    const terms = { car: 'Auto', automobile: 'Auto' };
    assert.deepEqual(lacking('The car, the automobile.', terms, 'Das Auto.'), ['automobile', 'car', 1]);
    assert.deepEqual(lacking('The car, the automobile.', terms, 'Das Auto, das Auto.'), [0]);
  });

  it('is nothing where a number is that of a mark', () => {
    assert.deepEqual(lacking('One of [1] and 1.', { 1: 'eins' }, 'Eins von [1]'), [0]);
    assert.deepEqual(lacking('One of [1].', { one: '1' }, 'Eins von [1]'), ['one', 1]);
  });
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
  const ms = cpuMsOf(() => assert.equal(find(text).length, 1));
  assert.ok(ms < 500, `${ms} ms`);
});
