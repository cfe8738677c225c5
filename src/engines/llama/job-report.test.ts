import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { SlowGrammarError } from './grammar-guard.ts';
import type { JobChoice } from './job.ts';
import { countJobTokens, toRefusal } from './job-report.ts';

describe('the report of a job', () => {
  it('sums the tokens of all choices', () => {
    const choices = [
      { output: { totalTokens: 5, thoughtTokens: 2 } },
      { output: { totalTokens: 3, thoughtTokens: 0 } },
    ];
    const job = { prompt: [1, 2, 3, 4], cachedTokens: 2, cacheRequest: undefined, choices };
    assert.deepEqual(countJobTokens(job), {
      promptTokens: 4,
      cachedTokens: 2,
      completionTokens: 8,
      thoughtTokens: 2,
    });
  });

  it('reports a slow grammar as invalid, with the field of its schema', () => {
    const choice = {
      output: { phase: 0 },
      job: { call: { phases: [{ kind: 'answer', grammar: { type: 'schema', schema: {}, field: 'format' } }] } },
    } as unknown as JobChoice;
    const { kind, param } = toRefusal(new SlowGrammarError(), choice);
    assert.deepEqual([kind, param], ['invalid', 'format']);
    assert.equal('param' in toRefusal(new SlowGrammarError(), undefined), false);
  });

  it('reports every other error as internal', () => {
    assert.deepEqual(toRefusal(new Error('broken'), undefined), { kind: 'internal', message: 'Error: broken' });
  });
});
