import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { openDisk } from '../blobs/disk.ts';
import { loadConfig } from '../config/load-config.ts';
import type { RegionId } from '../core/region.ts';
import { systemClock } from '../lib/clock.ts';
import type { BatchWork } from '../resources/batches/batch.ts';
import { createBatchWork } from '../resources/batches/work.ts';
import { sqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import type { Store } from '../store/store.ts';
import { createService } from './service.ts';
import type { Service } from './service.ts';

interface Place {
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

describe('batches, through the whole service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-batches-'));
  let service: Service | undefined;
  let store: Store | undefined;
  /** In the place of whoever does the work of batches. */
  let work: BatchWork;
  const at = new Map<string, string>();
  const keys = new Map<string, string>();

  before(async () => {
    writeFileSync(join(folder, 'parley.yaml'), 'regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}');
    const quiet = () => undefined;
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const log = { info: quiet, warn: quiet, error: quiet };
    store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
    service = await createService(loadConfig({ env }).config, { log, store, jobHandlers: {} });
    const blobs = await openDisk({ folder: join(folder, 'blobs') });
    work = createBatchWork({ store, blobs, clock: systemClock, log, bell: { ring: quiet } });
    for (const { url, region } of await service.listen()) at.set(region, url);
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const keyOf = async ({ workspace, region = 'cn-beijing' }: Place): Promise<string> => {
    const place = `${workspace} ${region}`;
    const key =
      keys.get(place) ?? (await service?.keys.create({ region, workspace, name: '', expiresAt: undefined }))?.secret;
    keys.set(place, key ?? assert.fail());
    return key ?? assert.fail();
  };
  const call = async (place: Place, method: string, path: string, body?: FormData | object) => {
    const isForm = body instanceof FormData;
    const response = await fetch(`${at.get(place.region ?? 'cn-beijing')}${path}`, {
      method,
      headers: {
        authorization: `Bearer ${await keyOf(place)}`,
        ...(body && !isForm ? { 'content-type': 'application/json' } : {}),
      },
      ...(body ? { body: isForm ? body : JSON.stringify(body) } : {}),
    });
    const text = await response.text();
    const isJson = response.headers.get('content-type') === 'application/json';
    return { status: response.status, text, body: (isJson ? JSON.parse(text) : {}) as Answer };
  };
  const upload = async (place: Place): Promise<string> => {
    const form = new FormData();
    form.append('purpose', 'batch');
    form.append('file', new Blob(['{}\n']), 'in.jsonl');
    return (await call(place, 'POST', '/v1/files', form)).body.id;
  };
  const wish = (input_file_id: string) => ({
    input_file_id,
    endpoint: '/v1/chat/completions',
    completion_window: '24h',
  });
  const make = async (place: Place, input: string) =>
    (await call(place, 'POST', '/compatible-mode/v1/batches', wish(input))).body.id;
  const BOTH = ['/compatible-mode/v1/batches', '/v1/batches'];

  test('both paths make, show, list and cancel them', async () => {
    const place = { workspace: 'paths' };
    const input = await upload(place);
    for (const [index, path] of BOTH.entries()) {
      const made = await call(place, 'POST', path, wish(input));
      assert.deepEqual([made.status, made.body.status], [200, 'validating']);
      for (const other of BOTH) {
        assert.equal((await call(place, 'GET', `${other}/${made.body.id}`)).text, made.text);
        assert.equal((await call(place, 'GET', other)).body.data.length, index + 1);
      }
      assert.equal((await call(place, 'POST', `${path}/${made.body.id}/cancel`)).body.status, 'cancelling');
    }
  });

  test('one of another workspace or region is not there', async () => {
    const place = { workspace: 'own' };
    const id = await make(place, await upload(place));
    for (const stranger of [{ workspace: 'strange' }, { ...place, region: 'us-east-1' as const }]) {
      for (const [method, path] of [
        ['GET', `/v1/batches/${id}`],
        ['POST', `/v1/batches/${id}/cancel`],
        ['GET', '/v1/batches/%00'],
      ] as const) {
        const { status, body } = await call(stranger, method, path);
        assert.deepEqual([status, body.error.code], [404, 'not_found'], path);
      }
      assert.deepEqual((await call(stranger, 'GET', '/v1/batches')).body.data, []);
      assert.equal((await call(stranger, 'POST', '/v1/batches', wish(await upload(place)))).status, 400);
    }
    assert.equal((await call(place, 'GET', `/v1/batches/${id}`)).body.status, 'validating');
  });

  test('an input that is read cannot be deleted, in either face', async () => {
    const place = { workspace: 'in-use' };
    const input = await upload(place);
    const id = await make(place, input);
    const { status, body } = await call(place, 'DELETE', `/compatible-mode/v1/files/${input}`);
    assert.deepEqual([status, body.error.code], [409, 'conflict']);
    const native = await call(place, 'DELETE', `/api/v1/files/${input}`);
    assert.deepEqual([native.status, /"code":"Conflict"/.test(native.text)], [409, true]);
    assert.equal((await call(place, 'GET', `/v1/files/${input}`)).status, 200);
    await work.fail(id, []);
    assert.equal((await call(place, 'DELETE', `/api/v1/files/${input}`)).status, 200);
  });

  test('results are files in both faces, and can be deleted as others', async () => {
    const place = { workspace: 'results' };
    const id = await make(place, await upload(place));
    await work.start(id, { model: 'svc-plus', total: 1 });
    await work.addResults(id, [{ line: 1, kind: 'output', json: '{"custom_id":"1"}' }]);
    const batch = (await work.beginFinalizing(id, 'completed')) ?? assert.fail();
    const source = async function* () {
      for await (const line of work.readResults(id, 'output')) yield Buffer.from(`${line}\n`);
    };
    const blobs = await openDisk({ folder: join(folder, 'blobs') });
    const output = { blob: batch.outputBlob, ...(await blobs.put(batch.outputBlob, source())) };
    await work.finish(id, { output });
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

  test('nobody can send a file for results', async () => {
    const form = new FormData();
    form.append('purpose', 'batch_output');
    form.append('file', new Blob(['x']), 'in.jsonl');
    assert.equal((await call({ workspace: 'sends' }, 'POST', '/v1/files', form)).status, 400);
  });
});
