import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { ModelEntry, ResolvedModel } from '../../catalogue/model.ts';
import { deploymentRecord, reservedRecord } from '../../core/__fixtures__/deployment-record.ts';
import type { DeploymentRecord } from '../../core/deployment.ts';
import type { RankingEngine, TextEngine } from '../../engines/engine.ts';
import { createScriptedEngine } from '../../engines/scripted/scripted-engine.ts';
import { createCalledEngines } from './called-engines.ts';

const BASE: ModelEntry = {
  name: 'm',
  description: '',
  runs: { type: 'none', reason: '' },
  contextTokens: 100,
  abilities: {},
  interfaces: ['chat'],
  sampling: {},
  created: 0,
};

const plain: ResolvedModel = { asked: 'm', entry: BASE };
const called = (record: DeploymentRecord): ResolvedModel => ({
  asked: record.name,
  entry: { ...BASE, name: record.name, contextTokens: 50 },
  deployed: { record, base: BASE },
});

const ranking: RankingEngine = { rank: async () => ({ scores: [], tokens: 0 }) };

function createRoom(engine: TextEngine = { ...createScriptedEngine({ script: () => [] }), ranking }) {
  const asked: unknown[] = [];
  let held = 0;
  const lease = () => {
    held++;
    return { engine, release: () => void held-- };
  };
  const shared = (part: string) => async (model: ResolvedModel) => {
    asked.push([part, model]);
    const { engine: text, release } = lease();
    return { text, release };
  };
  const engines = createCalledEngines(
    {
      async engineFor(model) {
        const { text, release } = await shared('text')(model);
        return { engine: text, release };
      },
      async embeddingsFor(model) {
        const { text, release } = await shared('embeddings')(model);
        return { engine: text.embeddings ?? assert.fail(), release };
      },
      async rankingFor(model) {
        const { text, release } = await shared('ranking')(model);
        return { engine: text.ranking ?? assert.fail(), release };
      },
    },
    {
      async engineFor({ id }) {
        asked.push(['own', id]);
        return lease();
      },
    },
  );
  return { engines, asked, held: () => held };
}

const PARTS = ['embeddingsFor', 'rankingFor', 'engineFor'] as const;

test('a model that is no deployment has the engine of its name', async () => {
  const { engines, asked } = createRoom();
  for (const part of PARTS) await engines[part](plain);
  assert.deepEqual(asked, [
    ['embeddings', plain],
    ['ranking', plain],
    ['text', plain],
  ]);
});

test('a deployment with units has its own engine, and all that this can do', async () => {
  const { engines, asked, held } = createRoom();
  for (const part of PARTS) (await engines[part](called(deploymentRecord()))).release();
  assert.deepEqual(asked, [
    ['own', 'dep_1'],
    ['own', 'dep_1'],
    ['own', 'dep_1'],
  ]);
  assert.equal(held(), 0);
});

test('reserved tokens are served by the engine of the model itself, which is not made anew for them', async () => {
  const { engines, asked } = createRoom();
  for (const part of PARTS) await engines[part](called(reservedRecord()));
  const shared = { asked: 'm-ours', entry: BASE };
  assert.deepEqual(asked, [
    ['embeddings', shared],
    ['ranking', shared],
    ['text', shared],
  ]);
});

test('an engine of its own that cannot do it is let go of, and named', async () => {
  const { embeddings: _, ...lacking } = createScriptedEngine({ script: () => [] });
  const { engines, held } = createRoom(lacking);
  await assert.rejects(engines.embeddingsFor(called(deploymentRecord())), {
    kind: 'unsupported',
    message: 'What runs deployment m-ours makes no vectors.',
  });
  await assert.rejects(engines.rankingFor(called(deploymentRecord())), { message: /m-ours does not rank documents/ });
  assert.equal(held(), 0);
});
