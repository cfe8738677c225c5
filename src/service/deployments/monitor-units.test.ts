import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import type { TextEngine } from '../../engines/engine.ts';
import type { DeploymentUnits } from './deployment-units.ts';
import { findUnitChanges } from './monitor-units.ts';

/** Units of which those with these indexes are up. */
function createUnits(count: number, up: readonly number[]): Pick<DeploymentUnits, 'units' | 'isUp'> {
  const units = Array.from({ length: count }, () => ({}) as TextEngine);
  const isUp = (unit: TextEngine): boolean => up.includes(units.indexOf(unit));
  return { units, isUp };
}

describe('findUnitChanges', () => {
  test('finds no change while the same units are up', () => {
    const opened = createUnits(3, [0, 2]);
    assert.deepEqual(findUnitChanges({ opened, answering: new Set([0, 2]) }), { lost: [], recovered: [] });
  });

  test('finds lost and recovered units', () => {
    const opened = createUnits(3, [1, 2]);
    assert.deepEqual(findUnitChanges({ opened, answering: new Set([0, 2]) }), { lost: [0], recovered: [1] });
  });
});
