import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { cpuMsOf } from '../../../test/cpu-ms.ts';
import { pageFits } from './page-fit.ts';
import { wantedFor } from './wanted.ts';

const topic = {
  topic: 'How property testing works with fast-check',
  asked: '',
  answer: '',
  focus: '',
  language: 'en',
} as const;

const fitOf = (...passages: readonly string[]) => {
  const sites = passages.map((passage, at) => ({ number: at + 1, title: '', passage }));
  const section = { heading: 'Features', goal: '', query: 'fast-check features' };
  const fits = pageFits(sites, wantedFor(topic, section, section.query).about);
  return sites.map(({ number }) => {
    const fit = fits.get(number);
    return fit ? (fit.isAside ? 'near' : 'same') : 'other';
  });
};

describe('what a page is about', () => {
  it('is told by names and rare words of topic and query', () => {
    assert.deepEqual(
      fitOf(
        'With fast-check, property testing of functions needs few lines.',
        'Testing a property of the house before you buy it needs a fast check.',
        'Features of a garden, and which features are best.',
      ),
      ['same', 'near', 'other'],
    );
  });

  it('is not the topic for its commonest word, where no page has another one', () => {
    assert.deepEqual(fitOf('A property by the sea.', 'Another property by the lake.'), ['other', 'other']);
  });

  it('is not what a query is worded like, where other pages have more of the topic', () => {
    const pages = [
      'With fast-check, property testing works for a shrinking configuration of options too.',
      'This configuration of options works for any program, and shrinking is one of its options.',
    ];
    const sites = pages.map((passage, at) => ({ number: at + 1, title: '', passage }));
    const query = 'shrinking configuration options';
    const fits = pageFits(sites, wantedFor(topic, { heading: 'Shrinking', goal: '', query }, query).about);
    assert.deepEqual([...fits.keys()], [1]);
  });

  it('takes no time out of a page of one word', () => {
    assert.ok(cpuMsOf(() => fitOf('é'.repeat(40_000), 'Property testing with fast-check.')) < 1_500);
  });
});
