import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { says } from '../server-tools/decision-turns.ts';
import { nextQuery } from './next-query.ts';
import { ownPlan } from './own-plan.ts';
import { BEGINNING } from './state.ts';
import type { HeldNote } from './state.ts';
import { topicOf } from './topic.ts';

const note = (query: number): HeldNote => ({
  id: query,
  query,
  section: 0,
  site: 1,
  at: 0,
  sentences: ['Lenses.'],
  context: '',
  score: 1,
  isAside: false,
});

/** All that is asked where each query brings a little. */
function queriesFor(answer: string): readonly string[] {
  const topic = topicOf([
    says('user', 'History of lighthouses and their lenses'),
    says('assistant', 'What of it?'),
    says('user', answer),
  ]);
  const budget = { queries: 60, pages: 60, tokens: 1_000, minutes: 10 };
  let state = { ...BEGINNING, plan: ownPlan(topic, 4) };
  for (;;) {
    const next = nextQuery({ state, topic, size: 'detailed', budget, minutes: 0 });
    if (typeof next !== 'object') return state.queries.map(({ query }) => query);
    const id = state.queries.length + 1;
    const { section, query } = next;
    state = {
      ...state,
      queries: [...state.queries, { id, section, query, isFailed: false }],
      notes: [...state.notes, note(id)],
    };
  }
}

describe('the queries of a research', () => {
  it('ask in the words of topic and answer, each once', () => {
    const queries = queriesFor('Keepers in Scotland');
    assert.ok(queries.length > 8);
    assert.equal(new Set(queries).size, queries.length);
    assert.ok(queries.some((query) => /lenses/.test(query) && /Scotland/.test(query)));
  });

  it('look for no word of an answer that leaves all open', () => {
    const queries = queriesFor('No preference.');
    assert.ok(queries.length > 8);
    assert.deepEqual(
      queries.filter((query) => /preference/i.test(query)),
      [],
    );
  });
});
