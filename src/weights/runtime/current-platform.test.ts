import assert from 'node:assert/strict';
import { platform } from 'node:os';
import { test } from 'node:test';
import { getCurrentPlatform } from './current-platform.ts';

test('finds the C library once, and resolves no peers of connections for it', { skip: platform() !== 'linux' }, (t) => {
  const excluded: unknown[] = [];
  const isNetworkExcluded = (): unknown => Reflect.get(process.report, 'excludeNetwork');
  const getReport = process.report.getReport.bind(process.report);
  t.mock.method(process.report, 'getReport', () => {
    excluded.push(isNetworkExcluded());
    return getReport();
  });
  assert.equal(getCurrentPlatform(), getCurrentPlatform());
  assert.deepEqual(excluded, [true]);
  assert.equal(isNetworkExcluded(), false);
});
