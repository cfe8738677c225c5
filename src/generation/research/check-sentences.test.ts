import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkSentences } from './check-sentences.ts';
import type { HeldNote } from './state.ts';

const note = (id: number, context: string): HeldNote => ({
  id,
  site: id + 10,
  at: 0,
  sentences: [context],
  score: 1,
  isAside: false,
  query: 1,
  section: 0,
  context,
});

const NOTES = [
  note(0, 'The depot in Utrecht charges 55 buses overnight with cables of 75 kW. It was opened by the mayor in 2019.'),
  note(1, 'Charging at terminal stops takes between 3 and 6 minutes in Gothenburg.'),
];

const keptOf = (text: string, before: readonly string[] = []) =>
  checkSentences(text, NOTES, before).kept.map(({ text: kept, site }) => [kept, site]);

describe('what a model wrote from notes', () => {
  it('keeps the source that its mark names, without the mark', () => {
    assert.deepEqual(
      keptOf('In Utrecht the depot charges 55 buses overnight [1]. It was opened in 2019 by the mayor [1].'),
      [
        ['In Utrecht the depot charges 55 buses overnight.', 10],
        ['It was opened in 2019 by the mayor.', 10],
      ],
    );
  });

  it('gets the source that says the same, where its mark is missing or wrong', () => {
    const sentence = 'Charging at terminal stops in Gothenburg takes between 3 and 6 minutes.';
    for (const text of [sentence, sentence.replace('.', ' [1].'), sentence.replace('.', ' [7].')])
      assert.deepEqual(keptOf(text), [[sentence, 11]]);
  });

  it('is refused with other numbers or names, and so is what leans on it', () => {
    const text = 'In Utrecht the depot charges 65 buses overnight [1]. It was opened in 2019 by the mayor [1].';
    assert.deepEqual(checkSentences(text, NOTES, []), {
      kept: [],
      refused: ['In Utrecht the depot charges 65 buses overnight.', 'It was opened in 2019 by the mayor.'],
    });
  });

  it('is refused where it exchanges the numbers of its source, or says that something is not so', () => {
    for (const turned of [
      'The depot in Utrecht charges 75 buses overnight with cables of 55 kW [1].',
      'The depot in Utrecht does not charge 55 buses overnight [1].',
    ])
      assert.deepEqual(keptOf(turned), []);
  });

  it('is left out where the report says it already', () => {
    const said = 'The depot in Utrecht charges 55 buses overnight with cables of 75 kW.';
    assert.deepEqual(checkSentences('In Utrecht the depot charges 55 buses overnight [1].', NOTES, [said]), {
      kept: [],
      refused: [],
    });
  });
});
