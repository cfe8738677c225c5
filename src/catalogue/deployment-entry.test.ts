import assert from 'node:assert/strict';
import { test } from 'node:test';
import { createTestDeployment } from '../core/__fixtures__/test-deployments.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import { createCatalogue, createReplaceableCatalogue } from './catalogue.ts';
import { expandCatalogue } from './expand-catalogue.ts';
import type { ModelInterface, CatalogueScope } from './model.ts';
import { parseCatalogueAdditions } from './schema.ts';
import { readShippedCatalogue } from './shipped.ts';

const parts = expandCatalogue(
  await readShippedCatalogue(),
  parseCatalogueAdditions({ models: { unknowing: { url: 'http://127.0.0.1:9/v1' } } }),
);
const OWNER: CatalogueScope = { region: 'cn-beijing', workspace: 'w' };

const createRecord = (change: Partial<DeploymentRecord> = {}): DeploymentRecord =>
  createTestDeployment({ name: 'svc-plus-ours', modelName: 'svc-plus', baseModel: 'svc-plus', ...change });

function createTestCatalogue(...records: DeploymentRecord[]) {
  const isOnSite = (scope: CatalogueScope) => (record: DeploymentRecord) =>
    record.region === scope.region && record.workspace === scope.workspace;
  const catalogue = createReplaceableCatalogue(createCatalogue(parts), {
    find: (scope, name) => records.find((record) => record.name === name && isOnSite(scope)(record)),
    list: (scope) => records.filter(isOnSite(scope)),
  });
  const resolve = (name: string, owner: CatalogueScope = OWNER, wanted: ModelInterface = 'chat') =>
    catalogue.resolve(name, { interface: wanted, owner });
  return { catalogue, resolve };
}

test('a deployment is a model with its own name and the properties of its base model', async () => {
  const { resolve } = createTestCatalogue(createRecord());
  const { requestedName, entry, deployment: found } = await resolve('svc-plus-ours');
  assert.deepEqual(
    [requestedName, entry.name, found?.base.name, found?.record.id],
    ['svc-plus-ours', 'svc-plus-ours', 'svc-plus', 'dep_1'],
  );
  const { runner, interfaces, sampling } = (await resolve('svc-plus')).entry;
  assert.deepEqual([entry.runner, entry.interfaces, entry.sampling], [runner, interfaces, sampling]);
  await assert.rejects(() => resolve('svc-plus-ours', OWNER, 'embeddings'), { kind: 'model-not-supported' });
});

test('precedes a model and an alias of the same name, for its owner only', async () => {
  const { resolve } = createTestCatalogue(createRecord({ name: 'svc-tiny' }), createRecord({ name: 'qwen-plus' }));
  for (const name of ['svc-tiny', 'qwen-plus'])
    assert.equal((await resolve(name)).deployment?.base.name, 'svc-plus', name);
  for (const other of [
    { ...OWNER, workspace: 'other' },
    { ...OWNER, region: 'us-east-1' },
  ] as const) {
    assert.equal((await resolve('svc-tiny', other)).entry.name, 'svc-tiny');
    assert.equal((await resolve('qwen-plus', other)).entry.name, 'svc-plus');
    assert.equal((await resolve('qwen-plus', other)).deployment, undefined);
  }
});

test('is unknown and not listed for other workspaces and regions', async () => {
  const { resolve, catalogue } = createTestCatalogue(createRecord());
  const getErrorMessage = async (name: string, owner: CatalogueScope): Promise<string> => {
    try {
      await resolve(name, owner);
    } catch (error) {
      return String(error).replaceAll(name, '…');
    }
    return assert.fail(name);
  };
  const other = { ...OWNER, workspace: 'other' };
  assert.equal(await getErrorMessage('svc-plus-ours', other), await getErrorMessage('svc-plus-none', other));
  assert.doesNotMatch(await getErrorMessage('svc-plus-none', other), /ours/);
  assert.match(await getErrorMessage('svc-plus-none', OWNER), /svc-plus-ours/);
  assert.equal(catalogue.find('svc-plus-ours'), undefined);
  assert.equal(catalogue.find('svc-plus-ours', other), undefined);
  assert.equal(catalogue.find('svc-plus-ours', OWNER)?.name, 'svc-plus-ours');
  const names = (scope?: CatalogueScope) => catalogue.list(scope).map(({ name }) => name);
  assert.ok(names(OWNER).includes('svc-plus-ours'));
  assert.deepEqual(names(other), names());
});

for (const [change, message, seconds] of [
  [{ status: 'stopped', capacity: 0, readyCapacity: 0 }, /its status is STOPPED\. Its capacity is 0; scale it up/, 60],
  [{ status: 'updating', capacity: 0 }, /its status is UPDATING\. Its capacity is 0; scale it up/, 60],
  [{ status: 'failed', readyCapacity: 0 }, /its status is FAILED\. None of its capacity started; scale it/, 60],
  [{ status: 'deleting' }, /its status is DELETING\. It is being deleted/, 60],
  [{ status: 'pending', readyCapacity: 0 }, /its status is PENDING\. Its capacity is not ready yet/, 5],
  [{ status: 'updating', readyCapacity: 0 }, /its status is UPDATING\. Its capacity is not ready yet/, 5],
  [{ status: 'running', readyCapacity: 0 }, /its status is RUNNING\. Its capacity is not ready yet/, 5],
] as const)
  test(`${change.status}, it rejects calls: ${message.source.slice(0, 60)}`, async () => {
    const { resolve } = createTestCatalogue(createRecord(change));
    await assert.rejects(
      () => resolve('svc-plus-ours'),
      (error: Error & { kind?: string; retryAfterSeconds?: number }) => {
        assert.deepEqual([error.kind, error.retryAfterSeconds], ['overloaded', seconds]);
        assert.match(error.message, /^Deployment svc-plus-ours cannot serve calls/);
        assert.match(error.message, message);
        return true;
      },
    );
  });

test('keeps serving while its capacity is being changed', async () => {
  const { resolve } = createTestCatalogue(createRecord({ status: 'updating', capacity: 5, readyCapacity: 1 }));
  assert.equal((await resolve('svc-plus-ours')).entry.name, 'svc-plus-ours');
});

test('a deployment that is being deleted is not listed, and hides a model of the same name', async () => {
  const { catalogue, resolve } = createTestCatalogue(createRecord({ status: 'deleting' }));
  assert.equal(catalogue.list(OWNER).length, catalogue.list().length);
  await assert.rejects(() => resolve('svc-plus-ours'), { kind: 'overloaded' });
});

test('the context limit of a deployment lowers that of its model, and counts as known', async () => {
  const createEntry = async (change: Partial<DeploymentRecord>) =>
    (await createTestCatalogue(createRecord(change)).resolve('svc-plus-ours')).entry;
  const { contextTokens } = await createEntry({});
  assert.equal((await createEntry({ spec: { maxContextLength: 512 } })).contextTokens, 512);
  assert.equal((await createEntry({ spec: { maxContextLength: contextTokens + 1 } })).contextTokens, contextTokens);
  const guessed = { baseModel: 'unknowing' };
  assert.equal((await createEntry(guessed)).isContextGuessed, true);
  assert.equal((await createEntry({ ...guessed, spec: { maxContextLength: 512 } })).isContextGuessed, undefined);
});

test('thinks by default if the deployment enables it and the model can', async () => {
  const createEntry = async (change: Partial<DeploymentRecord>) =>
    (await createTestCatalogue(createRecord(change)).resolve('svc-plus-ours')).entry;
  assert.equal((await createEntry({})).thinksByDefault, undefined);
  assert.equal((await createEntry({ spec: { enableThinking: false } })).thinksByDefault, undefined);
  assert.equal((await createEntry({ baseModel: 'unknowing', spec: { enableThinking: true } })).thinksByDefault, true);
  const { catalogue, resolve } = createTestCatalogue(
    createRecord({ baseModel: 'unknowing', spec: { enableThinking: true } }),
  );
  catalogue.applyModelInfo('unknowing', { contextTokens: 4096, abilities: { thinking: false } });
  assert.equal((await resolve('svc-plus-ours')).entry.thinksByDefault, undefined);
});

test('a deployment whose model was removed rejects calls and is not listed', async () => {
  const { catalogue, resolve } = createTestCatalogue(createRecord({ baseModel: 'gone' }));
  await assert.rejects(() => resolve('svc-plus-ours'), {
    kind: 'overloaded',
    message: /its model gone is no longer available/,
  });
  assert.equal(catalogue.list(OWNER).length, catalogue.list().length);
});

test('is listed as callable while it serves or is about to, and no alias is suggested for it', async () => {
  const names = async (change: Partial<DeploymentRecord>) =>
    (await createTestCatalogue(createRecord(change)).catalogue.listCallable(OWNER)).map(({ name }) => name);
  for (const change of [{}, { status: 'pending', readyCapacity: 0 }, { status: 'updating', readyCapacity: 0 }] as const)
    assert.ok((await names(change)).includes('svc-plus-ours'), JSON.stringify(change));
  for (const change of [
    { status: 'stopped', capacity: 0, readyCapacity: 0 },
    { status: 'failed', readyCapacity: 0 },
    { status: 'deleting' },
  ] as const)
    assert.ok(!(await names(change)).includes('svc-plus-ours'), JSON.stringify(change));
  // The second name matches an alias, which leads to a model, but the deployment is none.
  const { catalogue, resolve } = createTestCatalogue(createRecord(), createRecord({ name: 'qwen-ours' }));
  catalogue.setCallableCheck(async () => Promise.reject(new Error('the engine is gone')));
  await assert.rejects(resolve('gpt-4o'), {
    kind: 'model-not-found',
    message: /Available models: svc-plus-ours, qwen-ours\. .*\{"gpt-4o": svc-plus\}$/,
  });
});
