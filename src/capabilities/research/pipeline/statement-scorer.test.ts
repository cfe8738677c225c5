import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { extractWords } from './page-relevance.ts';
import { extractStatements } from './page-statements.ts';
import { createRelevanceTerms } from './relevance-terms.ts';
import { createStatementScorer } from './statement-scorer.ts';

const QUESTION = 'How does the harbor dredger deepen a channel?';

/** Returns the sentences of some pages that are about the question. */
function selectSentences(pages: Readonly<Record<string, string>>, question = QUESTION): readonly string[] {
  const topic = { topic: question, question: '', answer: '', focus: '', language: 'en' } as const;
  const candidates = Object.entries(pages).flatMap(([title, passage], rank) =>
    extractStatements(passage).map((statement) => ({
      ...statement,
      site: { number: rank + 1, title, passage },
      rank,
      words: extractWords(statement.sentences.join(' ')),
    })),
  );
  const terms = createRelevanceTerms(topic, { heading: '', goal: '', query: question }, question);
  const score = createStatementScorer(terms, candidates);
  return candidates.filter((each) => score(each) > 0).flatMap(({ sentences }) => sentences);
}

const EXPLANATION =
  'The dredger of the harbor deepens the channel with a chain of buckets. The chain of buckets is driven by an engine with a hundred horse powers.';

describe('createStatementScorer', () => {
  it('takes a whole paragraph that explains the question', () => {
    assert.deepEqual(selectSentences({ 'The harbor dredger': `# The harbor dredger\n\n${EXPLANATION}` }), [
      'The dredger of the harbor deepens the channel with a chain of buckets.',
      'The chain of buckets is driven by an engine with a hundred horse powers.',
    ]);
  });

  it('leaves out the same sentence in a paragraph about something else', () => {
    const pages = {
      'The harbor dredger': `# The harbor dredger\n\n${EXPLANATION.split('. ')[0]}.`,
      Mills: '# Mills\n\nThe chain of buckets is driven by an engine with a hundred horse powers.',
    };
    assert.deepEqual(selectSentences(pages), [
      'The dredger of the harbor deepens the channel with a chain of buckets.',
    ]);
  });

  it('leaves out a sentence of the paragraph that refers to another sentence', () => {
    const page = `# The harbor dredger\n\n${EXPLANATION} The same engine has to be repaired in every winter of the year.`;
    assert.ok(!selectSentences({ 'The harbor dredger': page }).some((sentence) => sentence.includes('repaired')));
  });

  it('leaves out what stands on every page without a word of the question', () => {
    const footer = 'The office of the society is open on each of the working days.';
    const pages = {
      'The harbor dredger': `# The harbor dredger\n\n${EXPLANATION} ${footer}`,
      'The harbor dredger of Ane': `# The harbor dredger of Ane\n\n${EXPLANATION.replace('chain', 'row')} ${footer}`,
    };
    assert.ok(!selectSentences(pages).includes(footer));
  });

  it('measures by all words of the question, even if no page contains some of them', () => {
    const page = '# Ports\n\nThe channel between the two islands is a quiet place in the summer.';
    assert.deepEqual(selectSentences({ Ports: page }), []);
  });
});
