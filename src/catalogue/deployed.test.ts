import assert from 'node:assert/strict';
import { test } from 'node:test';
import { deploymentRecord } from '../core/__fixtures__/deployment-record.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import { createCatalogue, createReplaceableCatalogue } from './catalogue.ts';
import { expandCatalogue } from './expand.ts';
import type { ModelInterface, ModelPlace } from './model.ts';
import { parseCatalogueAdditions } from './schema.ts';
import { readShippedCatalogue } from './shipped.ts';

const parts = expandCatalogue(
  await readShippedCatalogue(),
  parseCatalogueAdditions({ models: { unknowing: { url: 'http://127.0.0.1:9/v1' } } }),
);
const OWNER: ModelPlace = { region: 'cn-beijing', workspace: 'w' };

const deployed = (change: Partial<DeploymentRecord> = {}): DeploymentRecord =>
  deploymentRecord({ name: 'svc-plus-ours', modelName: 'svc-plus', baseModel: 'svc-plus', ...change });

function createRoom(...records: DeploymentRecord[]) {
  const isOf = (place: ModelPlace) => (record: DeploymentRecord) =>
    record.region === place.region && record.workspace === place.workspace;
  const catalogue = createReplaceableCatalogue(createCatalogue(parts), {
    find: (place, name) => records.find((record) => record.name === name && isOf(place)(record)),
    list: (place) => records.filter(isOf(place)),
  });
  const resolve = (name: string, owner: ModelPlace = OWNER, wanted: ModelInterface = 'chat') =>
    catalogue.resolve(name, { interface: wanted, owner });
  return { catalogue, resolve };
}

test('a deployment is a model by its own name, which does what its base does', () => {
  const { resolve } = createRoom(deployed());
  const { asked, entry, deployed: found } = resolve('svc-plus-ours');
  assert.deepEqual(
    [asked, entry.name, found?.base.name, found?.record.id],
    ['svc-plus-ours', 'svc-plus-ours', 'svc-plus', 'dep_1'],
  );
  const { runs, interfaces, sampling } = resolve('svc-plus').entry;
  assert.deepEqual([entry.runs, entry.interfaces, entry.sampling], [runs, interfaces, sampling]);
  assert.throws(() => resolve('svc-plus-ours', OWNER, 'embeddings'), { kind: 'model-not-supported' });
});

test('it goes before a model and an alias of its name, for its owner alone', () => {
  const { resolve } = createRoom(deployed({ name: 'svc-tiny' }), deployed({ name: 'qwen-plus' }));
  for (const name of ['svc-tiny', 'qwen-plus']) assert.equal(resolve(name).deployed?.base.name, 'svc-plus', name);
  for (const other of [
    { ...OWNER, workspace: 'other' },
    { ...OWNER, region: 'us-east-1' },
  ] as const) {
    assert.equal(resolve('svc-tiny', other).entry.name, 'svc-tiny');
    assert.equal(resolve('qwen-plus', other).entry.name, 'svc-plus');
    assert.equal(resolve('qwen-plus', other).deployed, undefined);
  }
});

test('for anybody else it is as unknown as what was never there, and in no list', () => {
  const { resolve, catalogue } = createRoom(deployed());
  const messageOf = (name: string, owner: ModelPlace): string => {
    try {
      resolve(name, owner);
    } catch (error) {
      return String(error).replace(name, '…');
    }
    return assert.fail(name);
  };
  const other = { ...OWNER, workspace: 'other' };
  assert.equal(messageOf('svc-plus-ours', other), messageOf('svc-plus-none', other));
  assert.doesNotMatch(messageOf('svc-plus-none', other), /ours/);
  assert.match(messageOf('svc-plus-none', OWNER), /svc-plus-ours/);
  assert.equal(catalogue.find('svc-plus-ours'), undefined);
  assert.equal(catalogue.find('svc-plus-ours', other), undefined);
  assert.equal(catalogue.find('svc-plus-ours', OWNER)?.name, 'svc-plus-ours');
  const names = (place?: ModelPlace) => catalogue.list(place).map(({ name }) => name);
  assert.ok(names(OWNER).includes('svc-plus-ours'));
  assert.deepEqual(names(other), names());
});

for (const [change, says, seconds] of [
  [{ status: 'stopped', capacity: 0, readyCapacity: 0 }, /its status is STOPPED\. Its capacity is 0; scale it up/, 60],
  [{ status: 'updating', capacity: 0 }, /its status is UPDATING\. Its capacity is 0; scale it up/, 60],
  [{ status: 'failed', readyCapacity: 0 }, /its status is FAILED\. No capacity of it came up; scale it/, 60],
  [{ status: 'deleting' }, /its status is DELETING\. It is being deleted/, 60],
  [{ status: 'pending', readyCapacity: 0 }, /its status is PENDING\. Its capacity is not ready yet/, 5],
  [{ status: 'updating', readyCapacity: 0 }, /its status is UPDATING\. Its capacity is not ready yet/, 5],
  [{ status: 'running', readyCapacity: 0 }, /its status is RUNNING\. Its capacity is not ready yet/, 5],
] as const)
  test(`${change.status}, nothing of it serves: ${says.source.slice(0, 60)}`, () => {
    const { resolve } = createRoom(deployed(change));
    assert.throws(
      () => resolve('svc-plus-ours'),
      (error: Error & { kind?: string; retryAfterSeconds?: number }) => {
        assert.deepEqual([error.kind, error.retryAfterSeconds], ['overloaded', seconds]);
        assert.match(error.message, /^Deployment svc-plus-ours serves no calls/);
        assert.match(error.message, says);
        return true;
      },
    );
  });

test('what serves goes on while another capacity is brought about', () => {
  const { resolve } = createRoom(deployed({ status: 'updating', capacity: 5, readyCapacity: 1 }));
  assert.equal(resolve('svc-plus-ours').entry.name, 'svc-plus-ours');
});

test('one that goes is in no list, and still no model of that name', () => {
  const { catalogue, resolve } = createRoom(deployed({ status: 'deleting' }));
  assert.equal(catalogue.list(OWNER).length, catalogue.list().length);
  assert.throws(() => resolve('svc-plus-ours'), { kind: 'overloaded' });
});

test('a context of its own lowers that of its model, and is known', () => {
  const entryOf = (change: Partial<DeploymentRecord>) => createRoom(deployed(change)).resolve('svc-plus-ours').entry;
  const { contextTokens } = entryOf({});
  assert.equal(entryOf({ spec: { maxContextLength: 512 } }).contextTokens, 512);
  assert.equal(entryOf({ spec: { maxContextLength: contextTokens + 1 } }).contextTokens, contextTokens);
  const guessed = { baseModel: 'unknowing' };
  assert.equal(entryOf(guessed).isContextGuessed, true);
  assert.equal(entryOf({ ...guessed, spec: { maxContextLength: 512 } }).isContextGuessed, undefined);
});

test('it thinks by default where that was asked for and its model may', () => {
  const entryOf = (change: Partial<DeploymentRecord>) => createRoom(deployed(change)).resolve('svc-plus-ours').entry;
  assert.equal(entryOf({}).thinksByDefault, undefined);
  assert.equal(entryOf({ spec: { enableThinking: false } }).thinksByDefault, undefined);
  assert.equal(entryOf({ baseModel: 'unknowing', spec: { enableThinking: true } }).thinksByDefault, true);
  const { catalogue, resolve } = createRoom(deployed({ baseModel: 'unknowing', spec: { enableThinking: true } }));
  catalogue.learn('unknowing', { contextTokens: 4096, abilities: { thinking: false } });
  assert.equal(resolve('svc-plus-ours').entry.thinksByDefault, undefined);
});

test('one whose model is offered no more says so, and is in no list', () => {
  const { catalogue, resolve } = createRoom(deployed({ baseModel: 'gone' }));
  assert.throws(() => resolve('svc-plus-ours'), {
    kind: 'overloaded',
    message: /its model gone is not offered any more/,
  });
  assert.equal(catalogue.list(OWNER).length, catalogue.list().length);
});
