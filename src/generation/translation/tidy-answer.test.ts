import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tidyAnswer } from './tidy-answer.ts';

describe('an answer', () => {
  for (const [answer, translation] of [
    ['"Eins."', 'Eins.'],
    ['„Eins.“\nNote', 'Eins.'],
    ['"Eins" und "zwei"', '"Eins" und "zwei"'],
    ['„Eins“ und „zwei“', '„Eins“ und „zwei“'],
    ['Hier ist die Übersetzung:\n\n"Eins."\nNote', 'Eins.'],
    ['\nEins:', 'Eins:'],
    ['"Eins „und“ zwei"', 'Eins „und“ zwei'],
  ] as const)
    it(`of ${answer} is ${translation}`, () => assert.equal(tidyAnswer(answer, 'One.'), translation));

  it('of what is no sentence is its first line, though it ends in a colon', () => {
    for (const source of ['One:', 'One', 'Dear One,', 'One. Two:', 'No. one', 'Version 1.5:'])
      assert.equal(tidyAnswer('Eins:\nNote', source), 'Eins:', source);
  });
});
