import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_UNIT_BYTES } from '../../core/limits.ts';
import { writeModelFile } from './__fixtures__/model-file.ts';
import { ENTRY } from './__fixtures__/played-units.ts';
import { openEmbeddedUnits } from './embedded-units.ts';
import type { OpenedUnits } from './opened-units.ts';
import { createMemory } from './memory.ts';

const { folder, modelFile, size, tokenBytes } = writeModelFile();
const UNIT_BYTES = 1_000 * tokenBytes + DEPLOYMENT_UNIT_BYTES;
const ENGINE_BYTES = DEPLOYMENT_MEMORY_RESERVE_BYTES + DEPLOYMENT_ENGINE_BYTES + size;

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };

const opened: OpenedUnits[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

/** @param holds Units for which there is memory. */
async function open(units: number, holds: number, previous?: OpenedUnits): Promise<OpenedUnits> {
  const wish = { name: 'a', entry: { ...ENTRY, contextTokens: 1_000 }, units, previous };
  const needs = {
    llama: { threads: 1, gpu: false, queuePlacesMax: 1, queueWaitMsMax: 1, runFolder: join(folder, 'run') } as const,
    memory: createMemory({ totalBytes: 0, availableBytes: () => ENGINE_BYTES + holds * UNIT_BYTES }),
    log,
  };
  const made = await openEmbeddedUnits(wish, modelFile, needs);
  opened.push(made);
  return made;
}

test('units of one process are the same engine, which is not there before it has started', async () => {
  const { engine, units, processes, reach, reason, isUp } = await open(3, 3);
  assert.deepEqual(new Set(units), new Set([engine]));
  assert.deepEqual([units.length, processes.length, reach, reason], [3, 1, { type: 'llama' }, undefined]);
  assert.equal(isUp(engine), false);
});

test('there are as many units as memory holds, with the reason', async () => {
  const { units, reason } = await open(5, 2);
  assert.equal(units.length, 2);
  assert.match(reason ?? '', /^Memory holds 2 of 5 units: it takes 6 MiB for each unit's context/);
});

test('there are at most 256 units, with the reason', async () => {
  for (const holds of [1_000, 300, 256]) {
    const { units, reason } = await open(999, holds);
    assert.deepEqual([units.length, reason], [256, 'One engine process has at most 256 units.']);
  }
  assert.match((await open(999, 255)).reason ?? '', /^Memory holds 255 of 999 units/);
  assert.equal((await open(256, 256)).reason, undefined);
});

test('what memory does not hold at all is not opened', async () => {
  await assert.rejects(open(2, 0), { kind: 'overloaded', message: /^Memory holds 0 of 2 units.* stay free\.$/ });
});

test('what would hold no more than serves already is not opened, and what is all that is wanted is', async () => {
  const two = await open(4, 2);
  const why = /^Memory holds 2 of 5 units: .* stay free\. The 2 that serve beside it stay\.$/;
  await assert.rejects(open(5, 2, two), { kind: 'overloaded', message: why });
  assert.equal((await open(5, 3, two)).units.length, 3);
  assert.equal((await open(1, 2, two)).units.length, 1);
});
