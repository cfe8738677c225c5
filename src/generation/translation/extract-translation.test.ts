import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractTranslation } from './extract-translation.ts';

describe('extractTranslation', () => {
  for (const [answer, translation] of [
    ['"Eins."', 'Eins.'],
    ['„Eins.“\nNote', 'Eins.'],
    ['"Eins" und "zwei"', '"Eins" und "zwei"'],
    ['„Eins“ und „zwei“', '„Eins“ und „zwei“'],
    ['Hier ist die Übersetzung:\n\n"Eins."\nNote', 'Eins.'],
    ['\nEins:', 'Eins:'],
    ['"Eins „und“ zwei"', 'Eins „und“ zwei'],
  ] as const)
    it(`extracts ${translation} from ${answer}`, () => assert.equal(extractTranslation(answer, 'One.'), translation));

  it('keeps a first line with a final colon when the source is no sentence', () => {
    for (const source of ['One:', 'One', 'Dear One,', 'One. Two:', 'No. one', 'Version 1.5:'])
      assert.equal(extractTranslation('Eins:\nNote', source), 'Eins:', source);
  });
});
