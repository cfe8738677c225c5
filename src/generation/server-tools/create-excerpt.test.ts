import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { createExcerpt } from './create-excerpt.ts';

const createFiller = (from: number): string =>
  Array.from({ length: 30 }, (_, i) => `Sentence number ${from + i} tells of nothing in particular.`).join(' ');

const PAGE = `The town of Brenwick lies by the sea. ${createFiller(0)} The lighthouse has 203 steps. ${createFiller(100)}`;

describe('createExcerpt', () => {
  it('returns a text that fits unchanged', () =>
    assert.equal(createExcerpt(' A short text. ', 'text', 100), 'A short text.'));

  it('keeps the parts with words of the question, and what follows them, instead of the beginning', () => {
    const page = PAGE.replace('steps. ', 'steps. Climbing it takes ten minutes. ');
    const reported = createExcerpt(page, 'How many steps has the lighthouse?', 700);
    assert.ok(reported.includes('203 steps. Climbing it takes ten minutes.'), reported);
    assert.ok(!reported.includes('Brenwick'), reported);
    const two = createExcerpt(page, 'lighthouse of Brenwick', 700);
    assert.match(two, /^The town of Brenwick .* … .*203 steps/s);
  });

  it('prefers rare words of the question to words that most parts have', () => {
    const reported = createExcerpt(PAGE, 'Which sentence tells in particular of 203?', 400);
    assert.ok(reported.includes('203 steps'), reported);
  });

  it('keeps the beginning of a text without a word of the question', () =>
    assert.ok(createExcerpt(PAGE, 'volcano', 700).startsWith('The town of Brenwick')));

  it('never exceeds the limit or splits a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 2_000 }),
        fc.string(),
        fc.nat(900),
        (text, question, most) => {
          const reported = createExcerpt(text.repeat(3), question, most);
          assert.ok(reported.length <= most);
          assert.ok(reported.isWellFormed());
        },
      ),
    );
  });
});
