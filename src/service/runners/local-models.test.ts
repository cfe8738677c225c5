import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry } from '../../catalogue/model.ts';
import { ServiceError } from '../../core/error.ts';
import type { Weights } from '../../core/weights.ts';
import type { EngineHost } from '../engine-host.ts';
import { createLocalModels } from './local-models.ts';

const ENTRY: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'weights', weights: 'w', family: 'f' },
  contextTokens: 4096,
  abilities: { tools: false, vision: false, audio: false, logprobs: false, fillInTheMiddle: false },
  interfaces: ['chat'],
  sampling: {},
  created: 0,
};

const signal = new AbortController().signal;
const CLOSED = { engineState: undefined };

/** Creates local models with weights that are here or not, and a download that the test ends. */
function createTestModels({
  isHere = false,
  problem,
  refusal,
  adapterProblem,
  host,
}: { isHere?: boolean; problem?: string; refusal?: string; adapterProblem?: string; host?: EngineHost } = {}) {
  const download = Promise.withResolvers<void>();
  let pulls = 0;
  const models = createLocalModels({
    catalogue: { weights: (id) => ({ id }) as Weights },
    weights: {
      inspect: async ({ id }) => {
        if (refusal !== undefined) return { state: 'refused', path: `/models/${id}`, problem: refusal };
        return isHere ? { state: 'present', path: `/models/${id}` } : { state: 'missing' };
      },
      async pull({ id }) {
        pulls += 1;
        await download.promise;
        return `/models/${id}`;
      },
    },
    findFileProblem: async () => problem,
    findAdapterProblem: async () => adapterProblem,
    ...(host ? { host } : {}),
  });
  return { models, download, countPulls: () => pulls };
}

test('the state of an engine that runs does not depend on its weights', async () => {
  const { models } = createTestModels();
  assert.deepEqual(await models.describe(ENTRY, { engineState: 'ready' }), { state: 'ready' });
  assert.equal((await models.describe(ENTRY, { engineState: 'starting' })).state, 'starting');
  assert.equal((await models.describe(ENTRY, { engineState: 'failing' })).state, 'failing');
});

test('a model with weights loads on the first request, in the program if there is one', async () => {
  const { models } = createTestModels({ isHere: true });
  const reason = 'loads on the first request';
  assert.deepEqual(await models.describe(ENTRY, CLOSED), { state: 'on-demand', reason });
  assert.deepEqual(await models.describe(ENTRY, { ...CLOSED, program: '/bin/x' }), {
    state: 'on-demand',
    reason: `${reason}, in /bin/x`,
  });
  assert.equal(await models.locate(ENTRY, 'w'), '/models/w');
});

test('a model without weights is missing, then downloading, and a request says which', async () => {
  const { models, download } = createTestModels();
  assert.deepEqual(await models.describe(ENTRY, CLOSED), {
    state: 'missing',
    reason: 'the weights are missing; run: parley models pull m',
  });
  const refuses = (message: string) =>
    assert.rejects(models.locate(ENTRY, 'w'), (error) => {
      assert(error instanceof ServiceError);
      assert.deepEqual([error.kind, error.message], ['overloaded', message]);
      return true;
    });
  await refuses('The weights of m are not on this machine: parley models pull m');
  const pulled = models.pull(ENTRY, { signal });
  await refuses('The weights of m are still downloading.');
  assert.equal((await models.describe(ENTRY, CLOSED)).state, 'downloading');
  download.reject(new Error('disk full'));
  await assert.rejects(pulled, new Error('disk full'));
  assert.equal((await models.describe(ENTRY, CLOSED)).state, 'missing');
});

test('a model with a malformed file is failing, and a request says what is wrong with which file', async () => {
  const { models } = createTestModels({ isHere: true, problem: 'it is empty' });
  assert.deepEqual(await models.describe(ENTRY, CLOSED), {
    state: 'failing',
    reason: 'the model file /models/w is malformed: it is empty',
  });
  await assert.rejects(models.locate(ENTRY, 'w'), {
    kind: 'overloaded',
    message: 'The model file w is malformed: it is empty. The operator must replace it.',
  });
});

test('a model with damaged weights is failing, also while its engine restarts, and a request says how to repair it', async () => {
  const { models } = createTestModels({ refusal: 'its content is wrong' });
  const failing = {
    state: 'failing',
    reason: 'the weights /models/w are damaged: its content is wrong; run: parley models pull m',
  };
  assert.deepEqual(await models.describe(ENTRY, CLOSED), failing);
  assert.deepEqual(await models.describe(ENTRY, { engineState: 'starting' }), failing);
  await assert.rejects(models.locate(ENTRY, 'w'), {
    kind: 'overloaded',
    message: /damaged: w: its content is wrong\. The operator repairs them with: parley models pull m$/,
  });
});

test('a model with an unfit adapter is failing, and a request names the setting', async () => {
  const adapterProblem = 'models.base.adapters.m: /a.gguf cannot be used: it is empty';
  const { models } = createTestModels({ isHere: true, adapterProblem });
  assert.deepEqual(await models.describe(ENTRY, CLOSED), { state: 'failing', reason: adapterProblem });
  await assert.rejects(models.locate(ENTRY, 'w'), {
    kind: 'overloaded',
    message: `${adapterProblem}. The operator must replace it.`,
  });
});

test('an obstacle comes before the weights, with the command for missing ones', async () => {
  const info = { ...CLOSED, findObstacle: async () => 'no runtime' };
  const missing = { state: 'off', reason: 'no runtime, then run: parley models pull m' };
  assert.deepEqual(await createTestModels().models.describe(ENTRY, info), missing);
  const { models } = createTestModels({ isHere: true });
  assert.deepEqual(await models.describe(ENTRY, info), { state: 'off', reason: 'no runtime' });
  assert.equal((await models.describe(ENTRY, { ...info, engineState: 'ready' })).state, 'ready');
});

test('downloads only weights that are missing', async () => {
  const here = createTestModels({ isHere: true });
  await here.models.pull(ENTRY, { signal });
  const remote = createTestModels();
  await remote.models.pull({ ...ENTRY, runner: { type: 'none', reason: '' } }, { signal });
  assert.deepEqual([here.countPulls(), remote.countPulls()], [0, 0]);
});

test('asks the host for the state in a worker process', async () => {
  const host = { getState: async (name: string) => ({ state: 'ready', reason: name }) } as unknown as EngineHost;
  const { models } = createTestModels({ host });
  assert.deepEqual(await models.describe(ENTRY, CLOSED), { state: 'ready', reason: 'm' });
});
