import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { checkSentences } from './check-sentences.ts';
import type { CollectedNote } from './state.ts';

const note = (id: number, context: string): CollectedNote => ({
  id,
  site: id + 10,
  at: 0,
  sentences: [context],
  score: 1,
  query: 1,
  section: 0,
  context,
});

const NOTES = [
  note(0, 'The depot in Utrecht charges 55 buses overnight with cables of 75 kW. It was opened by the mayor in 2019.'),
  note(1, 'Charging at terminal stops takes between 3 and 6 minutes in Gothenburg.'),
];

const listAccepted = (text: string, before: readonly string[] = []) =>
  checkSentences(text, NOTES, before).accepted.map(({ text: kept, site }) => [kept, site]);

describe('checkSentences', () => {
  it('attributes a sentence to the note that its mark names, and removes the mark', () => {
    assert.deepEqual(
      listAccepted('In Utrecht the depot charges 55 buses overnight [1]. It was opened in 2019 by the mayor [1].'),
      [
        ['In Utrecht the depot charges 55 buses overnight.', 10],
        ['It was opened in 2019 by the mayor.', 10],
      ],
    );
  });

  it('attributes a sentence with a missing or wrong mark to a similar note', () => {
    const sentence = 'Charging at terminal stops in Gothenburg takes between 3 and 6 minutes.';
    for (const text of [sentence, sentence.replace('.', ' [1].'), sentence.replace('.', ' [7].')])
      assert.deepEqual(listAccepted(text), [[sentence, 11]]);
  });

  it('rejects a sentence with other numbers or names, and sentences that depend on it', () => {
    const text = 'In Utrecht the depot charges 65 buses overnight [1]. It was opened in 2019 by the mayor [1].';
    assert.deepEqual(checkSentences(text, NOTES, []), {
      accepted: [],
      rejected: ['In Utrecht the depot charges 65 buses overnight.', 'It was opened in 2019 by the mayor.'],
    });
  });

  it('rejects exchanged numbers and negations', () => {
    for (const changed of [
      'The depot in Utrecht charges 75 buses overnight with cables of 55 kW [1].',
      'The depot in Utrecht does not charge 55 buses overnight [1].',
    ])
      assert.deepEqual(listAccepted(changed), []);
  });

  it('drops a sentence that the report already contains', () => {
    const written = 'The depot in Utrecht charges 55 buses overnight with cables of 75 kW.';
    assert.deepEqual(checkSentences('In Utrecht the depot charges 55 buses overnight [1].', NOTES, [written]), {
      accepted: [],
      rejected: [],
    });
  });
});
