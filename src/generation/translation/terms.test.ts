import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureCpuMs } from '../../../test/measure-cpu-ms.ts';
import { findLanguage } from './languages.ts';
import { replaceTerms, appendWordings, removeDuplicateWordings } from './rewrite-terms.ts';
import { createTermFinder, findMissingWordings, findWordingRanges, restoreWordingCase } from './terms.ts';

const showsWording = (text: string, target: string): boolean =>
  findWordingRanges(text, [{ target }]).get(target)?.length === 1;

const findSources = (text: string, ...sources: string[]): string[] =>
  createTermFinder(sources.map((source) => ({ source, target: 'x' })))(text).map(({ source }) => source);

describe('createTermFinder', () => {
  it('finds whole words in any case and spacing', () => {
    assert.deepEqual(findSources('The City  Park is big.', 'city park', 'CAR'), ['city park']);
    assert.deepEqual(findSources('Scary parking carts', 'car', 'park'), []);
    assert.deepEqual(findSources('C++ and .NET', 'c++', '.net', 'NE'), ['.net', 'c++']);
    assert.deepEqual(findSources('cafe\u0301'.normalize('NFC'), 'cafe\u0301'), ['café']);
  });

  it('finds terms anywhere in scripts without spaces', () => {
    assert.deepEqual(findSources('我们使用API接口在公园里', '公园', 'api'), ['api', '公园']);
    assert.deepEqual(findSources('공원에 갑니다', '공원'), ['공원']);
    assert.deepEqual(findSources('والحديقة كبيرة', 'حديقة'), ['حديقة']);
  });

  it('does not find a term that only occurs inside a longer term', () => {
    assert.deepEqual(findSources('a park bench', 'park', 'park bench'), ['park bench']);
    assert.deepEqual(findSources('a park bench in the park', 'park', 'park bench'), ['park bench', 'park']);
  });

  it('ignores empty terms and later duplicates', () => {
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

describe('findWordingRanges', () => {
  it('finds whole words, and a short ending after a long last word', () => {
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

describe('restoreWordingCase', () => {
  const terms = ['City Green', 'médiathèque', 'API', 'US', 'Word'].map((target) => ({ target }));
  for (const [text, written] of [
    ['In the city green. Médiathèque.', 'In the City Green. Médiathèque.'],
    ['In the city green, not in the City Green.', 'In the city green, not in the City Green.'],
    ['DIE CITY GREEN IST DA, MÉDIATHÈQUE', 'DIE CITY GREEN IST DA, MÉDIATHÈQUE'],
    ['Two city greens, apis', 'Two city greens, apis'],
    ['In other words, Word is open. Let us go there.', 'In other words, Word is open. Let us go there.'],
  ] as const)
    it(`corrects ${text}`, () => assert.equal(restoreWordingCase(text, terms), written));
});

describe('findMissingWordings', () => {
  const listMissing = (
    text: string,
    targetsBySource: Record<string, string>,
    line: string,
  ): readonly (string | number)[] => {
    const pairs = Object.entries(targetsBySource).map(([source, target]) => ({ source, target }));
    const { terms, count } = findMissingWordings(line, createTermFinder(pairs)(text));
    return [...terms.map(({ source }) => source), count];
  };

  it('reports a term that occurs more often in the source', () => {
    const terms = { park: 'Stadtgarten' };
    assert.deepEqual(listMissing('The park is near the other park.', terms, 'Der Stadtgarten beim Park.'), ['park', 1]);
    assert.deepEqual(listMissing('The park, the park.', terms, 'Des Stadtgartens, der Stadtgarten.'), [0]);
  });

  it('reports a term that is only shown inside the wording of a longer term', () => {
    const terms = { hall: 'Halle', 'town hall': 'Stadt Halle' };
    assert.deepEqual(listMissing('The town hall has a hall.', terms, 'Die Stadt Halle.'), ['hall', 1]);
    assert.deepEqual(listMissing('The town hall has a hall.', terms, 'Die Stadt Halle hat eine Halle.'), [0]);
  });

  it('reports terms that share a wording when it occurs too rarely for both', () => {
    const terms = { car: 'Auto', automobile: 'Auto' };
    assert.deepEqual(listMissing('The car, the automobile.', terms, 'Das Auto.'), ['automobile', 'car', 1]);
    assert.deepEqual(listMissing('The car, the automobile.', terms, 'Das Auto, das Auto.'), [0]);
  });

  it('does not count the number of a mark as a wording', () => {
    assert.deepEqual(listMissing('One of [1] and 1.', { 1: 'eins' }, 'Eins von [1]'), [0]);
    assert.deepEqual(listMissing('One of [1].', { one: '1' }, 'Eins von [1]'), ['one', 1]);
  });
});

describe('wordings in the source text', () => {
  const terms = createTermFinder([
    { source: 'park', target: 'Stadtgarten' },
    { source: 'main road', target: 'Allee' },
  ])('A park at the main road. Park!');
  const german = findLanguage('de', 'all') ?? assert.fail();

  it('are appended in brackets, or replace the term', () => {
    const text = 'A park at the main road. Park!';
    assert.equal(appendWordings(text, terms), 'A park (Stadtgarten) at the main road (Allee). Park (Stadtgarten)!');
    assert.equal(replaceTerms(text, terms), 'A Stadtgarten at the Allee. Stadtgarten!');
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
    it(`are deduplicated in ${translated}`, () =>
      assert.equal(removeDuplicateWordings(translated, terms, german), once));

  it('are deduplicated in scripts without spaces', () => {
    const chinese = findLanguage('Chinese', 'all') ?? assert.fail();
    const delivery = createTermFinder([{ source: 'delivery', target: '派件' }])('The delivery comes.');
    assert.equal(removeDuplicateWordings('快递（派件）明天到。', delivery, chinese), '派件明天到。');
    assert.equal(removeDuplicateWordings('派件（派件）明天到。', delivery, chinese), '派件明天到。');
  });
});

it('finds thousands of terms quickly', () => {
  const terms = Array.from({ length: 2_000 }, (_, at) => ({ source: `word${at} thing`, target: `Wort${at}` }));
  const find = createTermFinder(terms);
  const text = 'The quick brown fox jumps over the lazy dog and word7 thing. '.repeat(10);
  const ms = measureCpuMs(() => assert.equal(find(text).length, 1));
  assert.ok(ms < 500, `${ms} ms`);
});
