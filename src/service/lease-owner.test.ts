import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { isGone, newLeaseName } from './lease-owner.ts';

test('a process of this machine is gone when its number is nobody’s, or ours of another time', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  await once(child, 'spawn');
  const own = newLeaseName();
  const others = own.replace(`:${process.pid}:`, `:${child.pid}:`);
  assert.equal(isGone(others), false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(isGone(others), true);
  assert.equal(isGone(own), false);
  assert.equal(isGone(own.replace(/:\d+:(?=[0-9a-f]+$)/, ':1:')), true);
  assert.notEqual(own, newLeaseName());
});

test('of other machines, and of names of another kind, nobody knows', () => {
  assert.equal(isGone('elsewhere:1:1:0123456789ab'), false);
  assert.equal(isGone(`x${newLeaseName()}`), false);
  assert.equal(isGone(''), false);
});
