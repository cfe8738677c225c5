import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { test } from 'node:test';
import { isGone, ownLeaseName } from './lease-owner.ts';

test('a process of this machine is gone when its number is nobody’s, or ours under another name', async () => {
  const child = spawn(process.execPath, ['-e', 'process.stdin.resume()']);
  await once(child, 'spawn');
  const nameOf = (pid: number | undefined) => ownLeaseName().replace(`:${process.pid}:`, `:${pid}:`);
  assert.equal(isGone(nameOf(child.pid)), false);
  child.kill('SIGKILL');
  await once(child, 'exit');
  assert.equal(isGone(nameOf(child.pid)), true);
  assert.equal(isGone(ownLeaseName()), true);
});

test('of other machines, and of names of another kind, nobody knows', () => {
  assert.equal(isGone('elsewhere:1:0123456789ab'), false);
  assert.equal(isGone(`x${ownLeaseName()}`), false);
  assert.equal(isGone(''), false);
});
