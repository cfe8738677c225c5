import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { scalePropertyRuns } from '../../../test/property-runs.ts';
import { ServiceError } from '../../core/error.ts';
import type { GenerationEvent } from '../../core/event.ts';
import { SEARCH_STRATEGIES, type SearchStrategy } from '../../core/server-tools.ts';
import {
  createTestServerTools,
  createFakeInterpreter,
  collectEvents,
  createSearchResult,
  SEARCH,
} from './__fixtures__/test-server-tools.ts';

/** @throws AssertionError when the events violate the order that `core/event.ts` defines. */
function checkGrammar(events: readonly GenerationEvent[], choices: number): void {
  assert.equal(events[0]?.type, 'start');
  assert.equal(events.at(-1)?.type, 'end');
  const next = Array.from({ length: choices }, () => 0);
  const open = Array.from<string | undefined>({ length: choices });
  const isEnded = Array.from({ length: choices }, () => false);
  for (const event of events.slice(1, -1)) {
    assert.ok(event.type !== 'start' && event.type !== 'end', 'start and end come once');
    const { choice } = event;
    assert.ok(!isEnded[choice], 'no event follows the end of a choice');
    switch (event.type) {
      case 'prompt':
        assert.equal(next[choice], 0, 'the prompt precedes all blocks');
        break;
      case 'block-start':
      case 'server-call':
        assert.equal(open[choice], undefined, 'blocks do not overlap');
        assert.equal(event.index, next[choice], 'indexes are dense');
        next[choice] = event.index + 1;
        open[choice] = event.type === 'block-start' ? 'block' : event.id;
        break;
      case 'block-delta':
      case 'block-end':
        assert.equal(open[choice], 'block');
        assert.equal(event.index, (next[choice] ?? 0) - 1);
        if (event.type === 'block-end') open[choice] = undefined;
        break;
      case 'server-result':
        assert.equal(open[choice], event.id, 'a result follows its call');
        assert.equal(event.index, (next[choice] ?? 0) - 1);
        open[choice] = undefined;
        break;
      case 'choice-end':
        assert.equal(open[choice], undefined);
        isEnded[choice] = true;
    }
  }
  assert.ok(isEnded.every(Boolean), 'every choice ends');
}

const formatCall = (args: object): string =>
  `<tool_call>\n${JSON.stringify({ name: 'code_interpreter', arguments: args })}\n</tool_call>`;

const piece = fc.constantFrom(
  'The museum opened in 1986 [1]. ',
  'Hello. ',
  '[7]',
  '{"message": "asks for facts", "search": "Orsay"}',
  '{"message": "is a task", "search": ""}',
  '{"message": "asks for facts", "search": ["a", "b"]}',
  '{"next": "search", "query": "more"}',
  '{"next": "read", "page": 1}',
  '{"next": "answer"}',
  formatCall({ code: '1+1' }),
  formatCall({}),
  formatCall({ code: 'x' }).slice(0, 40),
  '```python\n1\n```',
  '',
  ' ',
);

describe('answer with server tools', () => {
  it('emits a valid event sequence for any model, search and program behavior', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.record({
          script: fc.array(fc.array(piece, { maxLength: 4 }), { minLength: 1, maxLength: 8 }),
          strategy: fc.constantFrom<SearchStrategy | undefined>(undefined, ...SEARCH_STRATEGIES),
          isForced: fc.boolean(),
          hasCode: fc.boolean(),
          hasPages: fc.boolean(),
          thinks: fc.boolean(),
          citations: fc.constantFrom(undefined, 'number', 'ref-number', 'attached'),
          failing: fc.constantFrom('none', 'search', 'page', 'code'),
          maxTokens: fc.constantFrom(1, 3, 50),
          wished: fc.integer({ min: 1, max: 3 }),
        }),
        async ({ script, strategy, isForced, hasCode, hasPages, thinks, citations, failing, maxTokens, wished }) => {
          const fail = (what: string): void => {
            if (what === failing) throw new ServiceError('upstream-failed', 'no');
          };
          const { code, record } = createFakeInterpreter(async () => {
            fail('code');
            return { value: '2' };
          });
          const harness = createTestServerTools({
            script,
            code,
            thinking: 'prompted',
            search: async ({ text }) => {
              fail('search');
              return {
                results: [createSearchResult('Orsay', 'The museum opened in 1986.'), createSearchResult(text, text)],
                findings: [],
              };
            },
            readPage: async ({ url }) => {
              fail('page');
              return createSearchResult('Page', 'The museum opened in 1986.', url);
            },
          });
          const choices = hasCode ? 1 : wished;
          const generation = await harness.generate(
            {
              ...(strategy ? { search: { ...SEARCH, strategy, isForced, ...(citations ? { citations } : {}) } } : {}),
              ...(hasCode ? { code: { fileIds: [] } } : {}),
              ...(hasPages ? { pages: {} } : {}),
            },
            { choices, maxTokens, ...(thinks ? { thinking: { budgetTokens: 5 } } : {}) },
          );
          const events = await collectEvents(generation);
          checkGrammar(events, choices);
          assert.equal(record.released, hasCode ? 1 : 0);
          assert.equal(harness.records.releases, harness.records.permits);
          const end = events.at(-1);
          const settled = harness.records.settled.reduce((sum, { usage }) => sum + usage.completionTokens, 0);
          assert.equal(end?.type === 'end' && end.usage.completionTokens, settled, 'every run is counted');
        },
      ),
      { numRuns: scalePropertyRuns(250) },
    );
  });
});
