import assert from 'node:assert/strict';
import { hash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { it } from 'node:test';
import { TIME_ZONES } from './time-zones.ts';

it('contains the archive of time zones with the stated hash', async () => {
  const archive = await readFile(new URL(TIME_ZONES.fileName, import.meta.url));
  assert.equal(hash('sha256', archive), TIME_ZONES.sha256);
});
