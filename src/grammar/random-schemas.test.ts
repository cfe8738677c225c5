import assert from 'node:assert/strict';
import { test } from 'node:test';
import { scalePropertyRuns } from '../../test/property-runs.ts';
import { createRandomTrials } from './__fixtures__/random-trials.ts';

/** test/process/grammar-random.test.ts tests many more. */
const SCHEMAS = scalePropertyRuns(60);

test(`grammars of ${SCHEMAS} random schemas generate valid JSON and accept nothing else`, () => {
  const trials = [...createRandomTrials(1, SCHEMAS)];
  // The remaining schemas are contradictory.
  assert.ok(trials.length > SCHEMAS * 0.8, `${trials.length} were compiled`);
  assert.ok(trials.flatMap(({ rejected }) => rejected).length > SCHEMAS * 5);
});
