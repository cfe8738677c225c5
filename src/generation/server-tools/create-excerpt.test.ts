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

  it('keeps the beginning and the parts with words of the question', () => {
    const reported = createExcerpt(PAGE, 'How many steps has the lighthouse?', 700);
    assert.ok(reported.startsWith('The town of Brenwick'));
    assert.ok(reported.includes('203 steps'));
    assert.ok(reported.includes(' … '));
  });

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
