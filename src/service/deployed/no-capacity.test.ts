import assert from 'node:assert/strict';
import { test } from 'node:test';
import { DEPLOYMENT_STATUSES } from '../../core/deployment.ts';
import { DEPLOYMENT_RETRY_SECONDS } from '../../core/limits.ts';
import { noCapacity } from './no-capacity.ts';

test('whoever calls what does not serve is told its name, its status, and what to do; and when, where it is coming', () => {
  const told = DEPLOYMENT_STATUSES.map((status) => noCapacity({ id: 'dep_1', name: 'svc-plus-a', status }));
  for (const [at, error] of told.entries()) {
    const status = DEPLOYMENT_STATUSES[at] ?? '';
    assert.equal(error.kind, 'overloaded');
    assert.match(error.message, new RegExp(`^Deployment svc-plus-a is ${status.toUpperCase()}: [a-z].{15,}\\.$`));
    const isComing = !['stopped', 'failed', 'deleting'].includes(status);
    assert.equal(error.retryAfterSeconds, isComing ? DEPLOYMENT_RETRY_SECONDS : undefined, status);
  }
});
