import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { ServiceError } from '../../core/error.ts';
import type { TextEngine } from '../../engines/engine.ts';
import { createTestRecord, TEST_ENTRY } from './__fixtures__/fake-units.ts';
import { explainShortage, resolveDeploymentEntry } from './probed-units.ts';

describe('explainShortage', () => {
  const createCounts = (wanted: number, opened: number, answered: number) => ({
    wanted,
    opened: { units: Array.from({ length: opened }, () => ({}) as TextEngine) },
    answered: new Set(Array.from({ length: answered }, (_, unit) => unit)),
    failure: answered < opened ? new ServiceError('timeout', 'No token.') : undefined,
  });

  test('names no reason when all units serve', () => assert.equal(explainShortage(createCounts(2, 2, 2)), undefined));

  test('names the failed probe', () =>
    assert.equal(explainShortage(createCounts(4, 2, 1)), '1 of 2 units answered their probe: No token.'));

  test('names units that could not be opened', () =>
    assert.match(explainShortage(createCounts(4, 2, 2)) ?? '', /^2 of 4 units can run at once/));
});

describe('resolveDeploymentEntry', () => {
  const catalogue = { find: () => TEST_ENTRY };
  const record = createTestRecord(1);
  const resolve = (maxContextLength: number | undefined, contextTokens?: number) =>
    resolveDeploymentEntry(
      { ...record, spec: { ...record.spec, ...(maxContextLength === undefined ? {} : { maxContextLength }) } },
      { catalogue, contextTokens },
    ).contextTokens;

  test('takes the smallest context length', () => {
    assert.equal(resolve(undefined), TEST_ENTRY.contextTokens);
    assert.equal(resolve(undefined, 64), 64);
    assert.equal(resolve(32, 64), 32);
  });

  test('rejects a model that the catalogue no longer has', () =>
    assert.throws(
      () => resolveDeploymentEntry(record, { catalogue: { find: () => undefined }, contextTokens: undefined }),
      { kind: 'overloaded' },
    ));
});
