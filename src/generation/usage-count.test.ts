import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createUsageCount } from './usage-count.ts';

test('measures a run by its events unless the engine reports its usage', () => {
  const count = createUsageCount({ promptTokens: 3 });
  assert.deepEqual(count.sumRuns(), { promptTokens: 3, cachedTokens: 0, completionTokens: 0 });
  count.addOutput('reasoning', 2);
  count.addOutput('text', 4);
  assert.deepEqual(count.sumRuns(), { promptTokens: 3, cachedTokens: 0, completionTokens: 6, reasoningTokens: 2 });
  const reported = { promptTokens: 5, cachedTokens: 1, completionTokens: 7 };
  assert.equal(count.sumRuns(reported), reported);
});

test('adds the measured usage of a replaced run to the usage of the next one', () => {
  const count = createUsageCount({ promptTokens: 3, cachedTokens: 1 });
  count.addOutput('reasoning', 2);
  const ended = { promptTokens: 3, cachedTokens: 1, completionTokens: 2, reasoningTokens: 2 };
  assert.deepEqual(count.sumRuns(), ended);
  count.endRun();
  count.startRun({ promptTokens: 10 });
  count.addOutput('text', 4);
  assert.deepEqual(count.sumRuns(), { promptTokens: 13, cachedTokens: 1, completionTokens: 6, reasoningTokens: 2 });
  const reported = { promptTokens: 10, cachedTokens: 0, completionTokens: 5 };
  assert.deepEqual(count.sumRuns(reported), { ...ended, promptTokens: 13, completionTokens: 7 });
});
