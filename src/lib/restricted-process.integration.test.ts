import assert from 'node:assert/strict';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { startRestrictedProcess } from './restricted-process.ts';

test('freezes the built-in objects of all threads and runs no code from strings on request', async () => {
  const entryUrl = new URL('./__fixtures__/report-built-ins', import.meta.url);
  const { child, getStderr } = startRestrictedProcess({ entryUrl, packages: [], freezesBuiltIns: true });
  assert.ok(child.stdout);
  const output = await text(child.stdout);
  const safe = { isFrozen: true, isNodeFrozen: true, hasProto: false, runsStrings: false };
  assert.deepEqual(JSON.parse(output === '' ? JSON.stringify(getStderr()) : output), { main: safe, thread: safe });
});
