import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry, ResolvedModel } from '../../catalogue/model.ts';
import { createTestDeployment, createTestPtuDeployment } from '../../core/__fixtures__/test-deployments.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import type { RankingEngine, TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createEngineRouter } from './engine-router.ts';

const BASE: ModelEntry = {
  name: 'm',
  description: '',
  runner: { type: 'none', reason: '' },
  contextTokens: 100,
  abilities: {},
  interfaces: ['chat'],
  sampling: {},
  created: 0,
};

const MODEL: ResolvedModel = { requestedName: 'm', entry: BASE };
const toDeploymentModel = (record: DeploymentRecord): ResolvedModel => ({
  requestedName: record.name,
  entry: { ...BASE, name: record.name, contextTokens: 50 },
  deployment: { record, base: BASE },
});

const ranking: RankingEngine = { rank: async () => ({ scores: [], tokens: 0 }) };

function createTestRouter(engine: TextEngine = { ...createScriptedEngine({ script: () => [] }), ranking }) {
  const calls: unknown[] = [];
  let openLeases = 0;
  const lease = () => {
    openLeases++;
    return { engine, release: () => void openLeases-- };
  };
  const leaseBaseEngine = (part: string) => async (model: ResolvedModel) => {
    calls.push([part, model]);
    const { engine: text, release } = lease();
    return { text, release };
  };
  const engines = createEngineRouter(
    {
      async engineFor(model) {
        const { text, release } = await leaseBaseEngine('text')(model);
        return { engine: text, release };
      },
      async embeddingsFor(model) {
        const { text, release } = await leaseBaseEngine('embeddings')(model);
        return { engine: text.embeddings ?? assert.fail(), release };
      },
      async rankingFor(model) {
        const { text, release } = await leaseBaseEngine('ranking')(model);
        return { engine: text.ranking ?? assert.fail(), release };
      },
    },
    {
      async engineFor({ id }) {
        calls.push(['own', id]);
        return lease();
      },
    },
  );
  return { engines, calls, countOpenLeases: () => openLeases };
}

const PARTS = ['embeddingsFor', 'rankingFor', 'engineFor'] as const;

test('returns the engine of the model for a model without deployment', async () => {
  const { engines, calls } = createTestRouter();
  for (const part of PARTS) await engines[part](MODEL);
  assert.deepEqual(calls, [
    ['embeddings', MODEL],
    ['ranking', MODEL],
    ['text', MODEL],
  ]);
});

test('returns the own engine of a deployment with units, for all its functions', async () => {
  const { engines, calls, countOpenLeases } = createTestRouter();
  for (const part of PARTS) (await engines[part](toDeploymentModel(createTestDeployment()))).release();
  assert.deepEqual(calls, [
    ['own', 'dep_1'],
    ['own', 'dep_1'],
    ['own', 'dep_1'],
  ]);
  assert.equal(countOpenLeases(), 0);
});

test('returns the engine of the base model for a deployment of reserved tokens', async () => {
  const { engines, calls } = createTestRouter();
  for (const part of PARTS) await engines[part](toDeploymentModel(createTestPtuDeployment()));
  const shared = { requestedName: 'm-ours', entry: BASE };
  assert.deepEqual(calls, [
    ['embeddings', shared],
    ['ranking', shared],
    ['text', shared],
  ]);
});

test('releases an engine that lacks the function, and names the deployment', async () => {
  const { embeddings: _, ...withoutEmbeddings } = createScriptedEngine({ script: () => [] });
  const { engines, countOpenLeases } = createTestRouter(withoutEmbeddings);
  await assert.rejects(engines.embeddingsFor(toDeploymentModel(createTestDeployment())), {
    kind: 'unsupported',
    message: 'The engine of deployment m-ours does not produce embeddings.',
  });
  await assert.rejects(engines.rankingFor(toDeploymentModel(createTestDeployment())), {
    message: /m-ours does not rank documents/,
  });
  assert.equal(countOpenLeases(), 0);
});
