import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createPassage } from './passage.ts';

const PASSAGE =
  'The Orsay Museum in Paris opened on 9 December 1986 in a former railway station. It holds 1,200 sculptures and was ' +
  'visited by 3.87 million people in 2023. Tickets cost 16 euros.';

const holds = (sentence: string, passage = PASSAGE): boolean =>
  createPassage(passage).compareSentence(sentence).isSupported;

describe('compareSentence', () => {
  for (const [sentence, passage] of [
    ['The museum opened in December 1986.', PASSAGE],
    ['It holds 1.200 sculptures in a former railway station.', PASSAGE],
    ['Ticket costs: 16 euros.', PASSAGE],
    ['3.87 million people were visiting it in 2023.', PASSAGE],
    ['北京今天的气温是25度。', '据报道，今天北京的气温是25度，天气晴朗。'],
    [
      'Das Museum wurde in einem ehemaligen Bahnhof eröffnet.',
      'Das Museum wurde 1986 in einem ehemaligen Bahnhof eröffnet.',
    ],
    ['The A380 carries 525 passengers.', 'An A380 can carry 525 passengers in three classes.'],
    ['The station weighs 0.5 tonnes.', 'The station has weighed .5 tonnes.'],
    ['It was −5 degrees.', 'The station measured -5 degrees.'],
  ] as const)
    it(`supports: ${sentence}`, () => assert.ok(holds(sentence, passage)));

  for (const [why, sentence, passage] of [
    ['another number', 'The museum opened in December 1987.', PASSAGE],
    ['another name', 'The museum in Lyon opened in December 1986.', PASSAGE],
    ['another name at the beginning', 'Lyon opened a museum in a former railway station.', PASSAGE],
    ['other words', 'The museum sells chocolate, coffee and old books.', PASSAGE],
    ['a number without its point', 'The station weighs 5 tonnes.', 'The station has weighed .5 tonnes.'],
    ['another sign', 'It was -5 degrees.', 'The station measured 5 degrees.'],
    ['another number beside Chinese', '北京今天的气温是35度。', '据报道，今天北京的气温是25度。'],
    ['other Chinese words', '上海的房价上涨了。', '据报道，今天北京的气温是25度。'],
    ['no words', 'Yes.', PASSAGE],
    ['a number alone', '16.', PASSAGE],
    ['another type', 'The A320 carries 525 passengers.', 'An A380 can carry 525 passengers.'],
    ['a number of another size', 'It holds 120 sculptures.', PASSAGE],
  ] as const)
    it(`does not support: ${why}`, () => assert.ok(!holds(sentence, passage)));

  it('requires most of the words, not all', () => {
    const { wordShare, isSupported: does } = createPassage(PASSAGE).compareSentence(
      'The museum opened with sculptures in a railway station.',
    );
    assert.equal(wordShare, 1);
    assert.ok(does);
    assert.ok(!holds('The museum delighted critics, painters and tourists with splendid exhibitions.'));
  });
});
