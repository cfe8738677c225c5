import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REGION_IDS } from '../core/region.ts';
import { resolveFamily } from './families.ts';
import {
  INTERFACES,
  listInterfaceStates,
  expandPathAliases,
  listUnservedRoutes,
  type PublishedInterface,
} from './interfaces.ts';

const all = Object.values<PublishedInterface>(INTERFACES);

test('every path has the prefix of its family', () => {
  for (const { routes, family } of all) {
    for (const { path } of routes) assert.equal(resolveFamily(path), family, path);
  }
});

test('Beijing, the default region, offers every interface', () => {
  for (const { regions, name } of all) assert.ok(regions.includes('cn-beijing'), name);
});

test('no two interfaces claim a route unless a model chooses between them', () => {
  const keys = all
    .filter((published) => !published.selectedByModelInterface)
    .flatMap(({ routes }) => routes.map(({ method, path }) => `${method} ${path}`));
  assert.equal(new Set(keys).size, keys.length);
});

test('compatible paths have an alias, others do not', () => {
  assert.deepEqual(expandPathAliases('/compatible-mode/v1/models/:id'), [
    '/compatible-mode/v1/models/:id',
    '/v1/models/:id',
  ]);
  assert.deepEqual(expandPathAliases('/api/v1/files'), ['/api/v1/files']);
});

test('an interface with an endpoint is on, the others are off with a reason', () => {
  const served = [{ method: 'POST', path: '/compatible-mode/v1/chat/completions' }] as const;
  const states = listInterfaceStates(served, { regions: REGION_IDS });
  assert.equal(states.find(({ name }) => name === 'Chat completions')?.state, 'on');
  assert.equal(states.find(({ name }) => name === 'Translation')?.state, 'off');
  const withModel = listInterfaceStates(served, { regions: REGION_IDS, selectableByModel: ['translation'] });
  assert.equal(withModel.find(({ name }) => name === 'Translation')?.state, 'on');
  const files = states.find(({ name }) => name === 'Files');
  assert.deepEqual([files?.state, files?.reason], ['off', 'not served by this version']);
  const abroad = listInterfaceStates([{ method: 'POST', path: '/compatible-mode/v1/completions' }], {
    regions: ['us-east-1'],
  });
  assert.equal(abroad.find(({ name }) => name === 'Text completion')?.reason, 'offered in cn-beijing only');
});

test('an interface with an endpoint but no model is off with the reason', () => {
  const served = [
    { method: 'POST', path: '/compatible-api/v1/reranks' },
    { method: 'POST', path: '/compatible-mode/v1/embeddings' },
  ] as const;
  const states = listInterfaceStates(served, {
    regions: REGION_IDS,
    findMissingModelReason: (needed) => (needed === 'rerank' ? 'no ranking model' : undefined),
  });
  const rerank = states.find(({ name }) => name === 'Reranking');
  assert.deepEqual([rerank?.state, rerank?.reason], ['off', 'no ranking model']);
  assert.equal(states.find(({ name }) => name === 'Embeddings')?.state, 'on');
});

test('an interface that answers without a model is on, with a note', () => {
  const served = [{ method: 'POST', path: '/api/v1/services/audio/asr/customization' }] as const;
  const find = (reason: string | undefined) =>
    listInterfaceStates(served, { regions: REGION_IDS, findMissingModelReason: () => reason }).find(
      ({ name }) => name === 'Custom vocabulary',
    );
  const without = find('the speech engine is not installed');
  assert.deepEqual([without?.state, without?.note], ['on', 'the speech engine is not installed']);
  const withModel = find(undefined);
  assert.deepEqual([withModel?.state, withModel?.note], ['on', undefined]);
});

test('an interface that responds with empty lists or errors is off, with the reason', () => {
  const served = [{ method: 'GET', path: '/api/v1/fine-tunes' }] as const;
  const states = listInterfaceStates(served, { regions: REGION_IDS });
  const found = states.find(({ name }) => name === 'Fine-tunes');
  assert.deepEqual([found?.state, found?.reason], ['off', 'this service does not train models']);
  const uploads = listUnservedRoutes(served).find(({ path }) => path === '/api/v1/uploads');
  assert.match(uploads?.disabledReason ?? '', /no bucket/);
});

test('lists documented routes without an endpoint once, and none that has one', () => {
  const served = [{ method: 'POST', path: '/compatible-mode/v1/chat/completions' }] as const;
  const missing = listUnservedRoutes(served).map(({ method, path }) => `${method} ${path}`);
  assert.ok(!missing.includes('POST /compatible-mode/v1/chat/completions'));
  assert.ok(missing.includes('PUT /api/v1/deployments/:id/scale'));
  assert.equal(new Set(missing).size, missing.length);
});
