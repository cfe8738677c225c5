import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { tidyAnswer } from './tidy-answer.ts';

describe('an answer', () => {
  for (const [answer, translation] of [
    ['"Eins."', 'Eins.'],
    ['„Eins.“\nNote', 'Eins.'],
    ['"Eins" und "zwei"', '"Eins" und "zwei"'],
    ['„Eins“ und „zwei“', '„Eins“ und „zwei“'],
    ['"Eins „und“ zwei"', 'Eins „und“ zwei'],
  ] as const)
    it(`of ${answer} is ${translation}`, () => assert.equal(tidyAnswer(answer, 'One.'), translation));
});
