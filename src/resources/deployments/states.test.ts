import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DEPLOYMENT_STATUSES } from '../../core/deployment.ts';
import { isAtRest, nextStatus } from './states.ts';

const OWNERS = ['scale', 'throttle', 'delete'] as const;
const STEPS = ['begin', 'ready', 'reach', 'stop', 'fail', 'go'] as const;
const MOVES = [...OWNERS, ...STEPS];

test('the table of the documentation is the machine', () => {
  const page = readFileSync(new URL('../../../docs/deployments.md', import.meta.url), 'utf8');
  const rows = page
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) =>
      line
        .split('|')
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  const drawn = (name: string) => rows.find((row) => row.length === MOVES.length + 1 && row[0] === name)?.slice(1);
  assert.deepEqual(drawn('from'), MOVES);
  for (const status of DEPLOYMENT_STATUSES) {
    const cells = MOVES.map((move) => nextStatus(status, move)?.toUpperCase() ?? '–');
    assert.deepEqual(drawn(status.toUpperCase()), cells, status);
  }
});

test('its owner may scale, limit and delete it at any time, until it is being deleted', () => {
  for (const status of DEPLOYMENT_STATUSES) {
    const isEnding = status === 'deleting';
    assert.equal(nextStatus(status, 'scale'), isEnding ? undefined : 'updating');
    assert.equal(nextStatus(status, 'throttle'), isEnding ? undefined : status);
    assert.equal(nextStatus(status, 'delete'), 'deleting');
  }
});

test('it is gone only after it was deleted, and by nothing else', () => {
  for (const status of DEPLOYMENT_STATUSES)
    for (const move of MOVES)
      assert.equal(nextStatus(status, move) === 'gone', status === 'deleting' && move === 'go', `${status} ${move}`);
});

test('one that is at rest is moved on by no step', () => {
  for (const status of DEPLOYMENT_STATUSES.filter(isAtRest))
    for (const move of STEPS) assert.equal(nextStatus(status, move) ?? status, status, `${status} ${move}`);
});
