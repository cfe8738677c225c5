import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { createTextMessage } from '../../../generation/server-tools/decision-messages.ts';
import { chooseNextQuery } from './choose-next-query.ts';
import { createFallbackPlan } from './fallback-plan.ts';
import { INITIAL_STATE } from './state.ts';
import type { CollectedNote } from './state.ts';
import { parseTopic } from './topic.ts';

const note = (query: number): CollectedNote => ({
  id: query,
  query,
  section: 0,
  site: 1,
  at: 0,
  sentences: ['Lenses.'],
  context: '',
  score: 1,
});

/** All queries of a run in which each query finds one note. */
function listQueries(answer: string): readonly string[] {
  const topic = parseTopic([
    createTextMessage('user', 'History of lighthouses and their lenses'),
    createTextMessage('assistant', 'What of it?'),
    createTextMessage('user', answer),
  ]);
  const budget = { queries: 60, pages: 60, tokens: 1_000, minutes: 10 };
  let state = { ...INITIAL_STATE, plan: createFallbackPlan(topic, 4) };
  for (;;) {
    const next = chooseNextQuery({ state, topic, size: 'detailed', budget, minutes: 0 });
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

describe('chooseNextQuery', () => {
  it('uses words of the topic and the answer, each query once', () => {
    const queries = listQueries('Keepers in Scotland');
    assert.ok(queries.length > 8);
    assert.equal(new Set(queries).size, queries.length);
    assert.ok(queries.some((query) => /lenses/.test(query) && /Scotland/.test(query)));
  });

  it('ignores the words of an answer that leaves all open', () => {
    const queries = listQueries('No preference.');
    assert.ok(queries.length > 8);
    assert.deepEqual(
      queries.filter((query) => /preference/i.test(query)),
      [],
    );
  });
});
