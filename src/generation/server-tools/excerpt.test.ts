import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { excerpt } from './excerpt.ts';

const filler = (from: number): string =>
  Array.from({ length: 30 }, (_, i) => `Sentence number ${from + i} tells of nothing in particular.`).join(' ');

const PAGE = `The town of Brenwick lies by the sea. ${filler(0)} The lighthouse has 203 steps. ${filler(100)}`;

describe('an excerpt', () => {
  it('is the whole of what fits', () => assert.equal(excerpt(' A short text. ', 'text', 100), 'A short text.'));

  it('has the beginning, and what has words of the question, wherever that stands', () => {
    const told = excerpt(PAGE, 'How many steps has the lighthouse?', 700);
    assert.ok(told.startsWith('The town of Brenwick'));
    assert.ok(told.includes('203 steps'));
    assert.ok(told.includes(' … '));
  });

  it('is never longer than there is room, nor has half a character', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme', maxLength: 2_000 }),
        fc.string(),
        fc.nat(900),
        (text, question, most) => {
          const told = excerpt(text.repeat(3), question, most);
          assert.ok(told.length <= most);
          assert.ok(told.isWellFormed());
        },
      ),
    );
  });
});
