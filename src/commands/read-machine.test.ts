import assert from 'node:assert/strict';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { measureCoreRate } from './measure-core-rate.ts';
import { findGpus } from './read-machine.ts';

test("finds GPUs by NVIDIA's program and by the kernel's files", async (t) => {
  const cardsFolder = mkdtempSync(join(tmpdir(), 'parley-cards-'));
  t.after(() => rmSync(cardsFolder, { recursive: true }));
  for (const card of ['card0', 'card1', 'card0-DP-1'])
    mkdirSync(join(cardsFolder, card, 'device'), { recursive: true });
  writeFileSync(join(cardsFolder, 'card1/device/mem_info_vram_total'), '17163091968\n');
  const listNvidia = async () => 'NVIDIA GeForce RTX 4090, 24564\nNVIDIA H100 80GB HBM3, 81559\n';
  assert.deepEqual(await findGpus({ platform: 'linux-x64', memoryBytes: 1, cardsFolder, listNvidia }), [
    { name: 'NVIDIA GeForce RTX 4090', memoryBytes: 24_564 * 2 ** 20 },
    { name: 'NVIDIA H100 80GB HBM3', memoryBytes: 81_559 * 2 ** 20 },
    { name: 'AMD GPU', memoryBytes: 17_163_091_968 },
  ]);
});

test('finds no GPU without driver, and one that shares the memory of Apple processors', async () => {
  const options = { memoryBytes: 16e9, cardsFolder: '/nonexistent', listNvidia: async () => undefined };
  assert.deepEqual(await findGpus({ platform: 'linux-x64', ...options }), []);
  assert.deepEqual(await findGpus({ platform: 'darwin-arm64', ...options }), [
    { name: 'Apple GPU', memoryBytes: 12e9 },
  ]);
});

test('derives the rate of a core from the fastest copy of 64 MiB', () => {
  const times = [0, 30, 100, 110, 200, 250, 300, 400, 500, 600];
  assert.equal(Math.round(measureCoreRate(() => times.shift() ?? 0)), Math.round(0.65 * 64 * 2 ** 20 * 100));
});
