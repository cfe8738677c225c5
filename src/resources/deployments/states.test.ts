import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { test } from 'node:test';
import { DEPLOYMENT_STATUSES } from '../../core/deployment.ts';
import { isAtRest, findNextStatus } from './states.ts';

const OWNERS = ['scale', 'throttle', 'delete'] as const;
const STEPS = ['begin', 'ready', 'reach', 'stop', 'fail', 'go'] as const;
const MOVES = [...OWNERS, ...STEPS];

test('the documented table matches the state machine', () => {
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
    const cells = MOVES.map((move) => findNextStatus(status, move)?.toUpperCase() ?? '–');
    assert.deepEqual(drawn(status.toUpperCase()), cells, status);
  }
});

test('the owner may scale, throttle and delete in every state except deleting', () => {
  for (const status of DEPLOYMENT_STATUSES) {
    const isEnding = status === 'deleting';
    assert.equal(findNextStatus(status, 'scale'), isEnding ? undefined : 'updating');
    assert.equal(findNextStatus(status, 'throttle'), isEnding ? undefined : status);
    assert.equal(findNextStatus(status, 'delete'), 'deleting');
  }
});

test('a deployment is removed only after its deletion', () => {
  for (const status of DEPLOYMENT_STATUSES)
    for (const move of MOVES)
      assert.equal(
        findNextStatus(status, move) === 'gone',
        status === 'deleting' && move === 'go',
        `${status} ${move}`,
      );
});

test('no step of the service changes the status of a deployment at rest', () => {
  for (const status of DEPLOYMENT_STATUSES.filter(isAtRest))
    for (const move of STEPS) assert.equal(findNextStatus(status, move) ?? status, status, `${status} ${move}`);
});
