import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { GenerationEvent } from '../core/event.ts';
import type { ServerCallFailure, Source } from '../core/server-tools.ts';
import { reportSearches } from './search-outcome.ts';
import type { StreamEncoder } from './stream-encoder.ts';

const failure: ServerCallFailure = { code: 'unavailable', message: 'm' };
const source: Source = { index: 1, url: 'https://example.com/', title: 't', siteName: '', icon: '', passage: 'p' };
const search = (result: { sources?: readonly Source[]; failure?: ServerCallFailure }): GenerationEvent => ({
  type: 'server-result',
  choice: 0,
  index: 0,
  id: 'c1',
  result: { type: 'search', sources: [], findings: [], ...result },
});
const TEXT: GenerationEvent = { type: 'block-start', choice: 0, index: 1, block: { type: 'text' } };

/** Encodes the types of the events. */
const encoder: StreamEncoder<GenerationEvent> = {
  contentType: 'text/event-stream',
  open: () => '',
  push: (events) => events.map(({ type }) => `${type} `).join(''),
  keepAlive: () => '',
  fail: () => '',
  close: () => '',
};

for (const [name, events, outcome] of [
  ['nothing found', [search({})], 'found-nothing'],
  ['each search failed', [search({ failure }), search({ failure })], 'failed'],
  ['one failed, one found nothing', [search({ failure }), search({})], 'found-nothing'],
  ['one failed, one found something', [search({ failure }), search({ sources: [source] })], undefined],
  ['no search', [], undefined],
] as const) {
  test(`reports once before the first text, and from then on as a header: ${name}`, () => {
    const { encoder: reporting, getHeaders } = reportSearches(encoder);
    assert.equal(reporting.push(events), encoder.push(events));
    assert.deepEqual(getHeaders(), {});
    const comment = outcome ? `:parley-search ${outcome}\n\n` : '';
    assert.equal(reporting.push([TEXT, TEXT]), `${comment}block-start block-start `);
    assert.equal(reporting.push([TEXT]), 'block-start ');
    assert.deepEqual(getHeaders(), outcome ? { 'x-parley-search': outcome } : {});
  });
}

const delta = (text: string): GenerationEvent => ({ type: 'block-delta', choice: 0, index: 1, text });
const END: GenerationEvent = {
  type: 'end',
  usage: { promptTokens: 1, cachedTokens: 0, completionTokens: 1 },
};

for (const [name, found, text, outcome] of [
  ['sources without the answer', { sources: [source] }, 'The search results do not answer this.', 'unanswered'],
  ['sources with the answer', { sources: [source] }, 'It has 203 steps.', undefined],
] as const) {
  test(`reports before the end of the stream what its text shows: ${name}`, () => {
    const { encoder: reporting, getHeaders } = reportSearches(encoder);
    const middle = Math.floor(text.length / 2);
    reporting.push([search(found), TEXT, delta(text.slice(0, middle))]);
    reporting.push([delta(text.slice(middle))]);
    const comment = outcome ? `:parley-search ${outcome}\n\n` : '';
    assert.equal(reporting.push([delta(''), END]), `block-delta ${comment}end `);
    assert.deepEqual(getHeaders(), outcome ? { 'x-parley-search': outcome } : {});
  });
}

test('does not call an answer without a search unanswered', () => {
  const { encoder: reporting } = reportSearches(encoder);
  reporting.push([TEXT, delta('The search results do not answer this.')]);
  assert.equal(reporting.push([END]), 'end ');
});
