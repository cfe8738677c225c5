import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { isLeaseOwnerGone, createLeaseOwnerName } from './lease-owner.ts';

test('isLeaseOwnerGone is true for a free pid and for the own pid with another start time', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  await once(child, 'spawn');
  const own = createLeaseOwnerName();
  const others = own.replace(`:${process.pid}:`, `:${child.pid}:`);
  assert.equal(isLeaseOwnerGone(others), false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(isLeaseOwnerGone(others), true);
  assert.equal(isLeaseOwnerGone(own), false);
  assert.equal(isLeaseOwnerGone(own.replace(/:\d+:(?=[0-9a-f]+$)/, ':1:')), true);
  assert.notEqual(own, createLeaseOwnerName());
});

test('isLeaseOwnerGone is false for other hosts and for names in another format', () => {
  assert.equal(isLeaseOwnerGone('elsewhere:1:1:0123456789ab'), false);
  assert.equal(isLeaseOwnerGone(`x${createLeaseOwnerName()}`), false);
  assert.equal(isLeaseOwnerGone(''), false);
});
