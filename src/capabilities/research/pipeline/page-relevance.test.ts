import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { measureCpuMs } from '../../../../test/measure-cpu-ms.ts';
import { scorePages } from './page-relevance.ts';
import { createRelevanceTerms } from './relevance-terms.ts';

const topic = {
  topic: 'How property testing works with fast-check',
  question: '',
  answer: '',
  focus: '',
  language: 'en',
} as const;

const classifyPages = (...passages: readonly string[]) => {
  const sites = passages.map((passage, at) => ({ number: at + 1, title: '', passage }));
  const section = { heading: 'Features', goal: '', query: 'fast-check features' };
  const fits = scorePages(sites, createRelevanceTerms(topic, section, section.query));
  return sites.map(({ number }) => fits.has(number));
};

describe('scorePages', () => {
  it('decides by names and rare words of topic and query', () => {
    assert.deepEqual(
      classifyPages(
        'With fast-check, property testing of functions needs few lines.',
        'Testing a property of the house before you buy it needs a fast check.',
        'Features of a garden, and which features are best.',
      ),
      [true, true, false],
    );
  });

  it('excludes pages that only contain the most common word of the topic', () => {
    assert.deepEqual(classifyPages('A property by the sea.', 'Another property by the lake.'), [false, false]);
  });

  it('excludes pages that match the query only, when other pages match the topic better', () => {
    const pages = [
      'With fast-check, property testing works for a shrinking configuration of options too.',
      'This configuration of options works for any program, and shrinking is one of its options.',
    ];
    const sites = pages.map((passage, at) => ({ number: at + 1, title: '', passage }));
    const query = 'shrinking configuration options';
    const fits = scorePages(sites, createRelevanceTerms(topic, { heading: 'Shrinking', goal: '', query }, query));
    assert.deepEqual([...fits.keys()], [1]);
  });

  it('is fast for a page of one endless word', () => {
    assert.ok(measureCpuMs(() => classifyPages('é'.repeat(40_000), 'Property testing with fast-check.')) < 1_500);
  });
});
