import assert from 'node:assert/strict';
import { test } from 'node:test';
import { REGION_IDS } from '../core/region.ts';
import { familyOf } from './families.ts';
import { INTERFACES, interfaceStates, pathsOf, unservedRoutes } from './interfaces.ts';
import type { PublishedInterface } from './interfaces.ts';

const all = Object.values<PublishedInterface>(INTERFACES);

test('every path has the prefix of its family', () => {
  for (const { routes, family } of all) {
    for (const { path } of routes) assert.equal(familyOf(path), family, path);
  }
});

test('Beijing, the default region, is offered everything', () => {
  for (const { regions, name } of all) assert.ok(regions.includes('cn-beijing'), name);
});

test('no two interfaces claim a route unless a model chooses between them', () => {
  const keys = all
    .filter((published) => !published.chosenBy)
    .flatMap(({ routes }) => routes.map(({ method, path }) => `${method} ${path}`));
  assert.equal(new Set(keys).size, keys.length);
});

test('compatible paths answer in two places, others in one', () => {
  assert.deepEqual(pathsOf('/compatible-mode/v1/models/:id'), ['/compatible-mode/v1/models/:id', '/v1/models/:id']);
  assert.deepEqual(pathsOf('/api/v1/files'), ['/api/v1/files']);
});

test('what has an endpoint is on, the rest is off with a reason', () => {
  const served = [{ method: 'POST', path: '/compatible-mode/v1/chat/completions' }] as const;
  const states = interfaceStates(served, { regions: REGION_IDS });
  assert.equal(states.find(({ name }) => name === 'Chat completions')?.state, 'on');
  assert.equal(states.find(({ name }) => name === 'Translation')?.state, 'off');
  const withModel = interfaceStates(served, { regions: REGION_IDS, byModel: ['translation'] });
  assert.equal(withModel.find(({ name }) => name === 'Translation')?.state, 'on');
  const files = states.find(({ name }) => name === 'Files');
  assert.deepEqual([files?.state, files?.reason], ['off', 'not served by this version']);
  const abroad = interfaceStates([{ method: 'POST', path: '/compatible-mode/v1/completions' }], {
    regions: ['us-east-1'],
  });
  assert.equal(abroad.find(({ name }) => name === 'Text completion')?.reason, 'offered in cn-beijing only');
});

test('what has an endpoint and no model is off with the reason', () => {
  const served = [
    { method: 'POST', path: '/compatible-api/v1/reranks' },
    { method: 'POST', path: '/compatible-mode/v1/embeddings' },
  ] as const;
  const states = interfaceStates(served, {
    regions: REGION_IDS,
    lacking: (needed) => (needed === 'rerank' ? 'no model ranks' : undefined),
  });
  const rerank = states.find(({ name }) => name === 'Reranking');
  assert.deepEqual([rerank?.state, rerank?.reason], ['off', 'no model ranks']);
  assert.equal(states.find(({ name }) => name === 'Embeddings')?.state, 'on');
});

test('what is answered with empty lists and refusals is off, and says why', () => {
  const served = [{ method: 'GET', path: '/api/v1/fine-tunes' }] as const;
  const states = interfaceStates(served, { regions: REGION_IDS });
  const found = states.find(({ name }) => name === 'Fine-tunes');
  assert.deepEqual([found?.state, found?.reason], ['off', 'nothing is trained here']);
  const uploads = unservedRoutes(served).find(({ path }) => path === '/api/v1/uploads');
  assert.match(uploads?.off ?? '', /no bucket/);
});

test('documented routes without an endpoint are listed once, those with one are not', () => {
  const served = [{ method: 'POST', path: '/compatible-mode/v1/chat/completions' }] as const;
  const missing = unservedRoutes(served).map(({ method, path }) => `${method} ${path}`);
  assert.ok(!missing.includes('POST /compatible-mode/v1/chat/completions'));
  assert.ok(missing.includes('PUT /api/v1/deployments/:id/scale'));
  assert.equal(new Set(missing).size, missing.length);
});
