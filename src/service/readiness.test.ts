import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../catalogue/model.ts';
import { systemClock } from '../lib/clock.ts';
import type { ModelEngines } from './model-engines.ts';
import { report } from './readiness.ts';

const ranking = (runs: ModelEntry['runs']): ModelEntry => ({
  name: 'svc-rerank',
  description: '',
  runs,
  contextTokens: 4096,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['rerank'],
  sampling: {},
  created: 0,
});

const unused = () => Promise.reject(new Error('no engine is asked for'));

const engines: ModelEngines = {
  engineFor: unused,
  embeddingsFor: unused,
  speechFor: unused,
  rankingFor: unused,
  prepare: unused,
  stateOf: async ({ runs }) => (runs.type === 'none' ? { state: 'off', reason: runs.reason } : { state: 'on-demand' }),
  keepServersOf: async () => undefined,
  lastTokenAt: () => undefined,
  close: async () => undefined,
};

async function stateWith(entries: readonly ModelEntry[], name = 'Reranking') {
  const { interfaces } = await report({
    catalogue: { list: () => entries, find: () => undefined },
    engines,
    served: [
      { method: 'POST', path: '/compatible-api/v1/reranks' },
      { method: 'POST', path: '/compatible-mode/v1/chat/completions' },
    ],
    interfaces: ['rerank', 'translation'],
    regions: ['cn-beijing'],
    clock: systemClock,
    tools: () => [],
  });
  const found = interfaces.find((each) => each.name === name);
  return [found?.state, found?.reason];
}

test('an interface is off while no model serves it, for the reason that the catalogue has', async () => {
  assert.deepEqual(await stateWith([]), ['off', 'no model of this service is for it']);
  const off = ranking({ type: 'none', reason: 'Name one.' });
  assert.deepEqual(await stateWith([off]), ['off', 'Name one.']);
  const on = ranking({ type: 'weights', weights: 'w', family: 'f' });
  assert.deepEqual(await stateWith([off, { ...on, name: 'other' }]), ['on', undefined]);
});

test('what a model chooses on a path of others is on when there is one', async () => {
  const translating: ModelEntry = {
    ...ranking({ type: 'weights', weights: 'w', family: 'f' }),
    interfaces: ['chat', 'translation'],
  };
  assert.deepEqual(await stateWith([translating], 'Translation'), ['on', undefined]);
  assert.deepEqual(await stateWith([], 'Translation'), ['off', 'no model of this service is for it']);
  assert.deepEqual(await stateWith([translating], 'Deep research'), ['off', 'not served by this version']);
});
