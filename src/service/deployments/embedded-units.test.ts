import assert from 'node:assert/strict';
import { join } from 'node:path';
import { afterEach, test } from 'node:test';
import { DEPLOYMENT_ENGINE_BYTES, DEPLOYMENT_MEMORY_RESERVE_BYTES, DEPLOYMENT_UNIT_BYTES } from './limits.ts';
import { writeTestModelFile } from './__fixtures__/test-model-file.ts';
import { TEST_ENTRY } from './__fixtures__/fake-units.ts';
import { openEmbeddedUnits } from './embedded-units.ts';
import type { DeploymentUnits } from './deployment-units.ts';
import { createMemoryBudget } from './memory-budget.ts';
import { TEST_LLAMA_SETTINGS } from './__fixtures__/llama-settings.ts';

const { folder, modelFile, size, tokenBytes } = writeTestModelFile();
const UNIT_BYTES = 1_000 * tokenBytes + DEPLOYMENT_UNIT_BYTES;
const ENGINE_BYTES = DEPLOYMENT_MEMORY_RESERVE_BYTES + DEPLOYMENT_ENGINE_BYTES + size;

const quiet = () => undefined;
const log = { info: quiet, warn: quiet, error: quiet };

const opened: DeploymentUnits[] = [];
afterEach(async () => {
  await Promise.all(opened.splice(0).map((each) => each.close()));
});

/** @param fittingUnits Number of units that fit into memory. */
async function open(units: number, fittingUnits: number, previous?: DeploymentUnits): Promise<DeploymentUnits> {
  const request = { name: 'a', entry: { ...TEST_ENTRY, contextTokens: 1_000 }, units, previous };
  const deps = {
    llama: { ...TEST_LLAMA_SETTINGS, runFolder: join(folder, 'run') },
    memory: createMemoryBudget({ totalBytes: 0, availableBytes: () => ENGINE_BYTES + fittingUnits * UNIT_BYTES }),
    log,
  };
  const openedUnits = await openEmbeddedUnits(request, modelFile, deps);
  opened.push(openedUnits);
  return openedUnits;
}

test('opens units that share one engine, which is not up before it has started', async () => {
  const { engine, units, processes, connection, reason, isUp } = await open(3, 3);
  assert.deepEqual(new Set(units), new Set([engine]));
  assert.deepEqual([units.length, processes.length, connection, reason], [3, 1, { type: 'llama' }, undefined]);
  assert.equal(isUp(engine), false);
});

test('opens as many units as fit into memory, with the reason', async () => {
  const { units, reason } = await open(5, 2);
  assert.equal(units.length, 2);
  assert.match(reason ?? '', /^Memory suffices for 2 of 5 units: they need 6 MiB for each unit's context/);
});

test('opens at most 256 units, with the reason', async () => {
  for (const fittingUnits of [1_000, 300, 256]) {
    const { units, reason } = await open(999, fittingUnits);
    assert.deepEqual([units.length, reason], [256, 'One engine process has at most 256 units.']);
  }
  assert.match((await open(999, 255)).reason ?? '', /^Memory suffices for 255 of 999 units/);
  assert.equal((await open(256, 256)).reason, undefined);
});

test('refuses when not one unit fits into memory', async () => {
  await assert.rejects(open(2, 0), { kind: 'overloaded', message: /^Memory suffices for 0 of 2 units.* stay free\.$/ });
});

test('refuses when no more units fit than serve already, unless all requested units fit', async () => {
  const two = await open(4, 2);
  const expectedMessage = /^Memory suffices for 2 of 5 units: .* stay free\. The current 2 units continue to serve\.$/;
  await assert.rejects(open(5, 2, two), { kind: 'overloaded', message: expectedMessage });
  assert.equal((await open(5, 3, two)).units.length, 3);
  assert.equal((await open(1, 2, two)).units.length, 1);
});

test('shortens a context that nobody configured until all units fit, but not below the shortest', async () => {
  const { modelFile: longFile } = writeTestModelFile(32_768);
  const contextBytes = (tokens: number) => tokens * tokenBytes + DEPLOYMENT_UNIT_BYTES;
  const openGuessed = async (availableBytes: number) => {
    const entry = { ...TEST_ENTRY, contextTokens: 32_768, isContextGuessed: true } as const;
    const deps = {
      llama: { ...TEST_LLAMA_SETTINGS, runFolder: join(folder, 'run') },
      memory: createMemoryBudget({ totalBytes: 0, availableBytes: () => ENGINE_BYTES + availableBytes }),
      log,
    };
    const units = await openEmbeddedUnits({ name: 'a', entry, units: 2, previous: undefined }, longFile, deps);
    opened.push(units);
    return units.units.length;
  };
  assert.equal(await openGuessed(2 * contextBytes(8_192)), 2);
  assert.equal(await openGuessed(2 * contextBytes(8_192) - 1), 1);
});
