import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createRelevanceTerms, weighByTitles } from './relevance-terms.ts';

const createTerms = (question: string) =>
  createRelevanceTerms(
    { topic: question, question: '', answer: '', focus: '', language: 'en' },
    { heading: '', goal: '', query: question },
    question,
  );

describe('createRelevanceTerms', () => {
  it('lets a word weigh more that the question repeats', () => {
    const { question } = createTerms('What does a stash hold, and how are stashed files restored?');
    assert.ok((question.get('stash') ?? 0) > (question.get('restor') ?? 0));
  });

  it('lets the name weigh less that says where the question applies, and not the name that it is about', () => {
    const { question } = createTerms('How is TLS enabled for incoming mail in Postfix?');
    assert.ok((question.get('postfix') ?? 0) < (question.get('mail') ?? 0));
    assert.ok((question.get('tls') ?? 0) > (question.get('mail') ?? 0));
  });

  it('joins a part with a pronoun or a single word and the part before it', () => {
    for (const [end, term] of [
      ['how can it be automated', 'automat'],
      ['which parameters control the schedule', 'schedul'],
    ] as const) {
      const [, part] = createTerms(`How does a dredger deepen a channel, and ${end}?`).parts;
      assert.ok(part?.has(term) && part.has('channel'), end);
    }
  });
});

describe('weighByTitles', () => {
  const TITLES = ['git-bisect(1)', 'git-status(1)', 'git-log(1)', 'git-merge(1)', 'git-reset(1)'];
  const terms = createTerms('How does git bisect find the commit that introduced a bug?');

  it('lets the words weigh more that name one of the best pages', () => {
    const { question } = weighByTitles(terms, TITLES);
    assert.equal(question.get('bisect'), 2 * (terms.question.get('bisect') ?? 0));
    assert.equal(question.get('commit'), terms.question.get('commit'));
  });

  it('lets a word weigh less that most titles contain', () => {
    const { question } = weighByTitles(terms, TITLES);
    assert.ok((question.get('git') ?? 0) < (question.get('commit') ?? 0));
  });

  it('keeps the weights of a question that consists of such words', () => {
    const wide = createTerms('git');
    assert.deepEqual(weighByTitles(wide, TITLES).question, wide.question);
  });
});
