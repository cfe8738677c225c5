import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { CITATION_SOURCE_CHARS_MAX, CITED_SENTENCE_CHARS_MAX } from '../limits.ts';
import { createPassageSentences } from './passage-sentences.ts';
import { createPassage } from './passage.ts';

const listSentences = (text: string): readonly string[] => {
  const sentences = createPassageSentences(text);
  return Array.from({ length: sentences.count }, (_, at) => sentences.get(at).text);
};

describe('createPassageSentences', () => {
  it('joins wrapped lines, but no headings, list items and paragraphs', () => {
    const long = 'A line of at least sixty characters without a full stop, as in a text';
    assert.deepEqual(
      listSentences(
        `Heading\nThe pump moves\n  water \nup.\n- one\n- two\nEnd:\nnext\n\nlast\n\n${long}\nThat wraps.\nThen.`,
      ),
      ['Heading', 'The pump moves water up.', '- one', '- two', 'End:', 'next', 'last', `${long} That wraps.`, 'Then.'],
    );
  });

  it('splits a text without full stops between words', () => {
    const text = 'word '.repeat(1_000).trim();
    const sentences = listSentences(text);
    assert.equal(sentences.join(' '), text);
    assert.ok(sentences.every((sentence) => sentence.length <= CITED_SENTENCE_CHARS_MAX));
    assert.deepEqual(
      listSentences('a'.repeat(CITED_SENTENCE_CHARS_MAX + 1)).map((sentence) => sentence.length),
      [CITED_SENTENCE_CHARS_MAX, 1],
    );
  });
});

/** Repeated parts that made the comparison slow, or may do so. */
const REPEATED_PARTS = [
  'a\n',
  'a.',
  'The vacuum over under ',
  'vacuum, ',
  'not ',
  'over ',
  'It is. ',
  '5 a ',
  '五个',
  '删除',
  `${'0'.repeat(50)}`,
  'the a_b ',
];

describe('createPassage', () => {
  it('takes time in proportion to its text, whatever it repeats', () => {
    const before = process.cpuUsage();
    for (const part of REPEATED_PARTS) {
      const passage = createPassage(`vacuum 1.${part.repeat(CITATION_SOURCE_CHARS_MAX / part.length)}1`);
      for (const claim of ['The vacuum is good.', part.repeat(CITED_SENTENCE_CHARS_MAX / part.length)])
        passage.compareSentence(claim);
    }
    assert.ok(process.cpuUsage(before).user < 30_000_000);
  });
});
