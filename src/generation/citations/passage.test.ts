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
    assert.ok(holds('The museum in the former railway station opened to visitors in 1986.'));
    assert.ok(!holds('The museum delighted critics, painters and tourists with splendid exhibitions.'));
  });
});

const UPDATES =
  'If the first updater rolls back, then its effects are negated and the second updater can proceed with updating the ' +
  'originally found row. If the first updater commits, the second updater will ignore the row if the first updater ' +
  'deleted it, otherwise it will attempt to apply its operation to the updated version of the row. The search condition ' +
  'is re-evaluated to see if the updated version of the row still matches the search condition.';

const LOCKS =
  'A lock has two states. Once a thread has acquired it, subsequent attempts to acquire it block until it is released. ' +
  'Any thread may release a lock. A reentrant lock must be released by the thread that acquired it. The minimum size ' +
  'of its queue is 16 entries, and the maximum size is 64 entries. Locking is disabled by default. The hooks run before ' +
  'the handlers. A name is valid for an hour.';

describe('compareSentence with a source of similar sentences', () => {
  for (const [passage, sentence] of [
    [UPDATES, 'When the first updater rolls back, the second one proceeds with updating the originally found row.'],
    [UPDATES, 'The second updater ignores the row if the first updater has deleted it.'],
    [LOCKS, 'The thread that acquired a reentrant lock must release it.'],
    [LOCKS, 'The queue has a maximum size of 64 entries.'],
    [LOCKS, 'Locking is not enabled by default.'],
    [LOCKS, 'The handlers run after the hooks.'],
    [LOCKS, 'A lock may be released by any thread.'],
    [LOCKS, 'A name is not invalid for an hour.'],
  ] as const)
    it(`supports: ${sentence}`, () => assert.ok(holds(sentence, passage)));

  for (const [why, passage, sentence] of [
    [
      'words of another sentence',
      UPDATES,
      'If the first updater rolls back, the second updater proceeds with updating the updated version of the row.',
    ],
    ['exchanged subjects', UPDATES, 'If the second updater rolls back, the first updater proceeds with the found row.'],
    ['the statement about another thing', LOCKS, 'A reentrant lock may be released by any thread.'],
    ['the number of another thing', LOCKS, 'The queue has a minimum size of 64 entries.'],
    ['the opposite', LOCKS, 'Locking is enabled by default.'],
    ['a negation', LOCKS, 'Any thread may not release a lock.'],
    ['the reversed order', LOCKS, 'The handlers run before the hooks.'],
    ['the other order', LOCKS, 'The hooks run after the handlers.'],
    ['a negating prefix', LOCKS, 'A name is invalid for an hour.'],
  ] as const)
    it(`does not support ${why}: ${sentence}`, () => assert.ok(!holds(sentence, passage)));

  it('compares sentences of wrapped lines', () => {
    const wrapped = 'The pump of the mill moves\nwater through two\npipes of copper to the tower.';
    assert.ok(holds('The pump moves water through two copper pipes.', wrapped));
  });
});
