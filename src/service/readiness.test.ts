import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import { ServiceError } from '../core/error.ts';
import { createScriptedEngine } from '../engines/scripted/scripted-engine.ts';
import { systemClock } from '../lib/clock.ts';
import type { ModelEngines } from './model-engines.ts';
import { buildServiceReport, createReadinessCheck, DEFAULT_MODEL } from './readiness.ts';
import type { StorageReport } from './storage-report.ts';

const createRankingEntry = (runs: ModelEntry['runner']): ModelEntry => ({
  name: 'svc-rerank',
  description: '',
  runner: runs,
  contextTokens: 4096,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['rerank'],
  sampling: {},
  created: 0,
});

const unused = () => Promise.reject(new Error('no engine should be requested'));

const engines: ModelEngines = {
  engineFor: unused,
  embeddingsFor: unused,
  speechFor: unused,
  rankingFor: unused,
  prepare: unused,
  getState: async ({ runner }) =>
    runner.type === 'none' ? { state: 'off', reason: runner.reason } : { state: 'on-demand' },
  readLoads: async () => [],
  closeUnusedServers: async () => undefined,
  getLastTokenAt: () => undefined,
  close: async () => undefined,
};

async function getInterfaceState(entries: readonly ModelEntry[], name = 'Reranking') {
  const { interfaces } = await buildServiceReport({
    catalogue: { list: () => entries, find: () => undefined },
    engines,
    servedRoutes: [
      { method: 'POST', path: '/compatible-api/v1/reranks' },
      { method: 'POST', path: '/compatible-mode/v1/chat/completions' },
    ],
    interfaces: ['rerank', 'translation'],
    regions: ['cn-beijing'],
    clock: systemClock,
    getToolReports: async () => [],
    hasSearchContent: async () => true,
    getStorageReport: async () => ({ state: 'ok' }),
  });
  const found = interfaces.find((each) => each.name === name);
  return [found?.state, found?.reason];
}

test('reports an interface as off while no model serves it, with the reason of the catalogue', async () => {
  assert.deepEqual(await getInterfaceState([]), ['off', 'no model in the catalogue has this interface']);
  const off = createRankingEntry({ type: 'none', reason: 'Name one.' });
  assert.deepEqual(await getInterfaceState([off]), ['off', 'Name one.']);
  const on = createRankingEntry({ type: 'weights', weights: 'w', family: 'f' });
  assert.deepEqual(await getInterfaceState([off, { ...on, name: 'other' }]), ['on', undefined]);
});

test('reports an interface without its own path as on when a model has it', async () => {
  const translationModel: ModelEntry = {
    ...createRankingEntry({ type: 'weights', weights: 'w', family: 'f' }),
    interfaces: ['chat', 'translation'],
  };
  assert.deepEqual(await getInterfaceState([translationModel], 'Translation'), ['on', undefined]);
  assert.deepEqual(await getInterfaceState([], 'Translation'), ['off', 'no model in the catalogue has this interface']);
  assert.deepEqual(await getInterfaceState([translationModel], 'Deep research'), ['off', 'not served by this version']);
});

test('warns of a loaded model that writes tool calls in an unknown format', async () => {
  const base = createRankingEntry({ type: 'weights', weights: 'w', family: 'f' });
  const entries: ModelEntry[] = [
    { ...base, name: 'unknown', abilities: { tools: true, toolCalls: 'unknown' } },
    { ...base, name: 'native', abilities: { tools: true, toolCalls: 'native' } },
    { ...base, name: 'without tools', abilities: { tools: false, toolCalls: 'unknown' } },
  ];
  const { models } = await buildServiceReport({
    catalogue: { list: () => entries, find: () => undefined },
    engines,
    servedRoutes: [],
    interfaces: ['rerank'],
    regions: ['cn-beijing'],
    clock: systemClock,
    getToolReports: async () => [],
    hasSearchContent: async () => true,
    getStorageReport: async () => ({ state: 'ok' }),
  });
  const warned = models.filter(({ warning }) => warning !== undefined);
  assert.deepEqual(
    warned.map(({ model }) => model),
    ['unknown'],
  );
  assert.match(warned[0]?.warning ?? '', /calls may arrive as text/);
});

test('shares a running check, and generates or fails to generate at most one token in two seconds', async () => {
  let now = 0;
  let probes = 0;
  let gate = Promise.withResolvers<void>();
  const scripted = createScriptedEngine({ script: () => [{ type: 'tokens', tokens: ['Hi'] }], contextTokens: 100 });
  const entry = { ...createRankingEntry({ type: 'weights', weights: 'w', family: 'f' }), name: DEFAULT_MODEL };
  const check = createReadinessCheck({
    catalogue: { list: () => [entry], find: () => entry },
    engines: {
      ...engines,
      getState: async () => ({ state: 'ready' }),
      engineFor: async () => {
        probes += 1;
        await gate.promise;
        return { engine: scripted, release: () => undefined };
      },
    },
    servedRoutes: [],
    interfaces: ['rerank'],
    regions: ['cn-beijing'],
    clock: { now: () => now, monotonic: () => now },
    getToolReports: async () => [],
    hasSearchContent: async () => true,
    getStorageReport: async () => ({ state: 'ok' }),
  });
  const first = Array.from({ length: 500 }, check);
  gate.resolve();
  assert.ok((await Promise.all(first)).every(({ ready }) => ready));
  now += 2_000;
  assert.equal((await check()).ready, true);
  assert.equal(probes, 1);
  now += 1;
  gate = Promise.withResolvers<void>();
  const failing = check();
  gate.reject(new ServiceError('overloaded', 'the engine is gone'));
  assert.deepEqual([(await failing).ready, (await failing).reason], [false, 'the engine is gone']);
  gate = Promise.withResolvers<void>();
  gate.resolve();
  now += 2_000;
  assert.equal((await check()).reason, 'the engine is gone');
  assert.equal(probes, 2);
  now += 1;
  assert.equal((await check()).ready, true);
  assert.equal(probes, 3);
});

test('is ready at once when the engine has generated a token since a failure', async () => {
  let lastTokenAt = -Infinity;
  const entry = { ...createRankingEntry({ type: 'weights', weights: 'w', family: 'f' }), name: DEFAULT_MODEL };
  const check = createReadinessCheck({
    catalogue: { list: () => [entry], find: () => entry },
    engines: { ...engines, getState: async () => ({ state: 'ready' }), getLastTokenAt: () => lastTokenAt },
    servedRoutes: [],
    interfaces: ['rerank'],
    regions: ['cn-beijing'],
    clock: { now: () => 0, monotonic: () => 0 },
    getToolReports: async () => [],
    hasSearchContent: async () => true,
    getStorageReport: async () => ({ state: 'ok' }),
  });
  assert.deepEqual([(await check()).ready, (await check()).ready], [false, false]);
  lastTokenAt = 0;
  assert.equal((await check()).ready, true);
});

test('is not ready when nothing can be stored, and degraded when the disk is nearly full', async () => {
  const entry = { ...createRankingEntry({ type: 'weights', weights: 'w', family: 'f' }), name: DEFAULT_MODEL };
  let storage: StorageReport = { state: 'ok' };
  const check = createReadinessCheck({
    catalogue: { list: () => [entry], find: () => entry },
    engines: { ...engines, getState: async () => ({ state: 'ready' }), getLastTokenAt: () => 0 },
    servedRoutes: [],
    interfaces: ['rerank'],
    regions: ['cn-beijing'],
    clock: { now: () => 0, monotonic: () => 0 },
    getToolReports: async () => [],
    hasSearchContent: async () => true,
    getStorageReport: async () => storage,
  });
  const read = async () => {
    const { ready, state, reason } = await check();
    return [ready, state, reason];
  };
  assert.deepEqual(await read(), [true, 'ready', undefined]);
  storage = { state: 'degraded', reason: 'little room' };
  assert.deepEqual(await read(), [true, 'degraded', 'little room']);
  storage = { state: 'failed', reason: 'gone' };
  assert.deepEqual(await read(), [false, 'unready', 'gone']);
});
