import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openDiskBlobStore } from '../blobs/disk-blob-store.ts';
import { loadConfig } from '../config/load-config.ts';
import type { RegionId } from '../core/region.ts';
import { systemClock } from '../lib/clock.ts';
import type { BatchLifecycle } from '../resources/batches/batch.ts';
import { createBatchLifecycle } from '../resources/batches/lifecycle.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore, type Store } from '../store/store.ts';
import { createService, type Service } from './service.ts';

interface TenantScope {
  readonly workspace: string;
  readonly region?: RegionId;
}

interface Answer {
  readonly id: string;
  readonly status: string;
  readonly data: readonly { readonly id: string }[];
  readonly error: { readonly code: string; readonly message: string };
  readonly output_file_id: string | null;
}

describe('batch endpoints of the complete service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-batches-'));
  let service: Service | undefined;
  let store: Store | undefined;
  /** Replaces the job handler of batches. */
  let batchLifecycle: BatchLifecycle;
  const urls = new Map<string, string>();
  const keys = new Map<string, string>();

  before(async () => {
    writeFileSync(join(folder, 'parley.yaml'), 'regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}');
    const quiet = () => undefined;
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const log = { info: quiet, warn: quiet, error: quiet };
    store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
    service = await createService(loadConfig({ env }).config, { log, store, jobHandlers: {} });
    const blobs = await openDiskBlobStore({ folder: join(folder, 'blobs') });
    batchLifecycle = createBatchLifecycle({ store, blobs, clock: systemClock, log, notifier: { notify: quiet } });
    for (const { url, region } of await service.listen()) urls.set(region, url);
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const getSecret = async ({ workspace, region = 'cn-beijing' }: TenantScope): Promise<string> => {
    const scopeKey = `${workspace} ${region}`;
    const key =
      keys.get(scopeKey) ?? (await service?.keys.create({ region, workspace, name: '', expiresAt: undefined }))?.secret;
    keys.set(scopeKey, key ?? assert.fail());
    return key ?? assert.fail();
  };
  const call = async (place: TenantScope, method: string, path: string, body?: FormData | object) => {
    const isForm = body instanceof FormData;
    const response = await fetch(`${urls.get(place.region ?? 'cn-beijing')}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await getSecret(place)}`,
        ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Answer };
  };
  const upload = async (place: TenantScope): Promise<string> => {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob(['{}\n']), 'in.jsonl');
    return (await call(place, 'POST', '/v1/files', form)).body.id;
  };
  const createDraft = (input_file_id: string) => ({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const createBatch = async (place: TenantScope, input: string) =>
    (await call(place, 'POST', '/compatible-mode/v1/batches', createDraft(input))).body.id;
  const BOTH = ['/compatible-mode/v1/batches', '/v1/batches'];

  test('creates, returns, lists and cancels a batch on both paths', async () => {
    const place = { workspace: 'paths' };
    const input = await upload(place);
    for (const [index, path] of BOTH.entries()) {
      const created = await call(place, 'POST', path, createDraft(input));
      assert.deepEqual([created.status, created.body.status], [200, 'validating']);
      for (const other of BOTH) {
        assert.equal((await call(place, 'GET', `${other}/${created.body.id}`)).text, created.text);
        assert.equal((await call(place, 'GET', other)).body.data.length, index + 1);
      }
      assert.equal((await call(place, 'POST', `${path}/${created.body.id}/cancel`)).body.status, 'cancelling');
    }
  });

  test('hides batches of other workspaces and regions', async () => {
    const place = { workspace: 'own' };
    const id = await createBatch(place, await upload(place));
    for (const otherScope of [{ workspace: 'strange' }, { ...place, region: 'us-east-1' as const }]) {
      for (const [method, path] of [
        ['GET', `/v1/batches/${id}`],
        ['POST', `/v1/batches/${id}/cancel`],
        ['GET', '/v1/batches/%00'],
      ] as const) {
        const { status, body } = await call(otherScope, method, path);
        assert.deepEqual([status, body.error.code], [404, 'not_found'], path);
      }
      assert.deepEqual((await call(otherScope, 'GET', '/v1/batches')).body.data, []);
      assert.equal((await call(otherScope, 'POST', '/v1/batches', createDraft(await upload(place)))).status, 400);
    }
    assert.equal((await call(place, 'GET', `/v1/batches/${id}`)).body.status, 'validating');
  });

  test('refuses to delete the input of a running batch, in both file APIs', async () => {
    const place = { workspace: 'in-use' };
    const input = await upload(place);
    const id = await createBatch(place, input);
    const { status, body } = await call(place, 'DELETE', `/compatible-mode/v1/files/${input}`);
    assert.deepEqual([status, body.error.code], [409, 'conflict']);
    const native = await call(place, 'DELETE', `/api/v1/files/${input}`);
    assert.deepEqual([native.status, /"code":"Conflict"/.test(native.text)], [409, true]);
    assert.equal((await call(place, 'GET', `/v1/files/${input}`)).status, 200);
    await batchLifecycle.fail(id, []);
    assert.equal((await call(place, 'DELETE', `/api/v1/files/${input}`)).status, 200);
  });

  test('serves results as files in both file APIs, and deletes them like others', async () => {
    const place = { workspace: 'results' };
    const id = await createBatch(place, await upload(place));
    await batchLifecycle.start(id, { model: 'svc-plus', total: 1 });
    await batchLifecycle.addResults(id, [{ line: 1, kind: 'output', json: '{"custom_id":"1"}' }]);
    const batch = (await batchLifecycle.startFinalizing(id, 'completed')) ?? assert.fail();
    const source = async function* () {
      for await (const line of batchLifecycle.readResults(id, 'output')) yield Buffer.from(`${line}\n`);
    };
    const blobs = await openDiskBlobStore({ folder: join(folder, 'blobs') });
    const output = { blob: batch.outputBlob, ...(await blobs.put(batch.outputBlob, source())) };
    await batchLifecycle.finish(id, { output });
    const { output_file_id: file } = (await call(place, 'GET', `/v1/batches/${id}`)).body;
    const list = await call(place, 'GET', '/v1/files?purpose=batch_output');
    assert.deepEqual(
      list.body.data.map((each) => each.id),
      [file],
    );
    assert.match(
      list.text,
      new RegExp(`"filename":"${id}_output.jsonl","purpose":"batch_output","status":"processed"`),
    );
    assert.equal((await call(place, 'GET', `/v1/files/${file}/content`)).text, '{"custom_id":"1"}\n');
    const native = await call(place, 'GET', '/api/v1/files?purpose=batch_output');
    assert.match(native.text, new RegExp(`"total":1,.*"file_id":"${file}"`));
    assert.equal((await call(place, 'DELETE', `/api/v1/files/${file}`)).status, 200);
    assert.equal((await call(place, 'GET', `/v1/batches/${id}`)).body.output_file_id, file);
    assert.equal((await call(place, 'GET', `/v1/files/${file}/content`)).status, 404);
  });

  test('refuses uploads with the purpose of results', async () => {
    const form = new FormData();
    form.append('purpose', 'batch_output');
    form.append('file', new Blob(['x']), 'in.jsonl');
    assert.equal((await call({ workspace: 'sends' }, 'POST', '/v1/files', form)).status, 400);
  });
});
