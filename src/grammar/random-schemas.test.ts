import assert from 'node:assert/strict';
import { test } from 'node:test';
import { randomTrials } from './__fixtures__/random-schemas.ts';

/** test/process/grammar-random.test.ts has many more. */
const SCHEMAS = 60;

test(`grammars of ${SCHEMAS} random schemas give valid JSON and let nothing else through`, () => {
  const trials = [...randomTrials(1, SCHEMAS)];
  // The rest contradict themselves.
  assert.ok(trials.length > SCHEMAS * 0.8, `${trials.length} were compiled`);
  assert.ok(trials.flatMap(({ rejected }) => rejected).length > SCHEMAS * 5);
});
