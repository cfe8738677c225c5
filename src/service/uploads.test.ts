import assert from 'node:assert/strict';
import { createHash, randomBytes } from 'node:crypto';
import { before, describe, test } from 'node:test';
import { UPLOAD_LIFETIME_MS, UPLOAD_PART_BYTES_MAX, UPLOAD_PARTS_MAX } from '../resources/files/limits.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

// Tests of uploads in parts over HTTP.

type Fields = Readonly<Record<string, unknown>>;

interface Body extends Fields {
  readonly id: string;
  readonly status: string;
  readonly file: (Fields & { readonly id: string }) | null;
  readonly error?: { readonly message: string; readonly param: string | null; readonly code: string };
}

const ROOT = '/v1/uploads';
const md5 = (bytes: Uint8Array): string => createHash('md5').update(bytes).digest('hex');

describe('uploads in parts', () => {
  const { getUrl, getSecret } = registerTestService({
    config:
      'regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}\nfiles: {workspaces: {small: {totalBytesMax: 1000, fileBytesMax: 900}}}\n',
  });
  let key = '';
  before(async () => {
    key = await getSecret();
  });

  const send = async (path: string, body: Fields | FormData, secret = key) => {
    const response = await fetch(getUrl() + path, {
      method: 'POST',
      headers: {
        authorization: `Bearer ${secret}`,
        ...(body instanceof FormData ? {} : { 'content-type': 'application/json' }),
      },
      body: body instanceof FormData ? body : JSON.stringify(body),
    });
    return { status: response.status, headers: response.headers, body: (await response.json()) as Body };
  };
  const create = async (bytes: number, secret = key) => {
    const fields = { purpose: 'batch', filename: 'big file.jsonl', bytes, mime_type: 'text/plain' };
    const { status, body } = await send(ROOT, fields, secret);
    assert.equal(status, 200, JSON.stringify(body));
    return body;
  };
  const sendPart = (id: string, bytes: Uint8Array<ArrayBuffer>, secret = key) => {
    const form = new FormData();
    form.set('data', new Blob([bytes]), 'part');
    return send(`${ROOT}/${id}/parts`, form, secret);
  };
  const addPart = async (id: string, bytes: Uint8Array<ArrayBuffer>, secret = key): Promise<string> => {
    const { status, body } = await sendPart(id, bytes, secret);
    assert.equal(status, 200, JSON.stringify(body));
    assert.deepEqual(
      { ...body, id: '', created_at: 0 },
      { id: '', object: 'upload.part', created_at: 0, upload_id: id },
    );
    return body.id;
  };
  const complete = (id: string, fields: Fields, secret = key) => send(`${ROOT}/${id}/complete`, fields, secret);
  const get = (path: string) => fetch(getUrl() + path, { headers: { authorization: `Bearer ${key}` } });

  test('joins the parts in the requested order to a file', async () => {
    const pieces = [randomBytes(300_000), randomBytes(1), randomBytes(70_000)];
    const whole = Buffer.concat(pieces);
    const upload = await create(whole.length);
    assert.match(upload.id, /^upload_/);
    assert.equal(upload.status, 'pending');
    assert.equal(Number(upload['expires_at']) - Number(upload['created_at']), UPLOAD_LIFETIME_MS / 1_000);
    const partIds: string[] = [];
    // Sent out of order, with a part that is not used.
    for (const index of [2, 0, 1, 0]) partIds[index] = await addPart(upload.id, pieces[index] ?? assert.fail());
    const { status, body } = await complete(upload.id, { part_ids: partIds, md5: md5(whole).toUpperCase() });
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal(body.status, 'completed');
    assert.equal(body.file?.['filename'], 'big file.jsonl');
    assert.equal(body.file['bytes'], whole.length);
    const content = await get(`/v1/files/${body.file.id}/content`);
    assert.ok(Buffer.from(await content.arrayBuffer()).equals(whole));
    const again = await complete(upload.id, { part_ids: partIds });
    assert.deepEqual(again.body, body, 'a repeated completion returns the same file');
    const late = await sendPart(upload.id, randomBytes(1));
    assert.equal(late.status, 400);
    assert.match(late.body.error?.message ?? '', /is completed: only a pending upload/);
  });

  test('refuses a wrong size, a wrong digest and unknown parts, and stays pending', async () => {
    const upload = await create(10);
    const first = await addPart(upload.id, Buffer.alloc(6, 1));
    const second = await addPart(upload.id, Buffer.alloc(4, 2));
    for (const [fields, param] of [
      [{ part_ids: [first] }, 'part_ids'],
      [{ part_ids: [first, first] }, 'part_ids'],
      [{ part_ids: [first, 'part_none'] }, 'part_ids[1]'],
      [{ part_ids: [] }, 'part_ids'],
      [{ part_ids: Array.from({ length: UPLOAD_PARTS_MAX + 1 }, () => first) }, 'part_ids'],
      [{ part_ids: [first, second], md5: '0'.repeat(32) }, 'md5'],
      [{ part_ids: [first, second], md5: 'x' }, 'md5'],
    ] as const) {
      const { status, body } = await complete(upload.id, fields);
      assert.deepEqual([status, body.error?.param], [400, param], JSON.stringify(body));
    }
    assert.equal((await complete(upload.id, { part_ids: [second, first] })).status, 200);
  });

  test('refuses invalid fields when it is created', async () => {
    const valid = { purpose: 'batch', filename: 'a', bytes: 1, mime_type: 'text/plain' };
    for (const [fields, param] of [
      [{ purpose: 'vision' }, 'purpose'],
      [{ bytes: 0 }, 'bytes'],
      [{ bytes: 1e15 }, 'bytes'],
      [{ filename: undefined }, 'filename'],
    ] as const) {
      const { status, body } = await send(ROOT, { ...valid, ...fields });
      assert.deepEqual([status, body.error?.param], [400, param], JSON.stringify(body));
    }
    const expiring = await send(ROOT, { ...valid, expires_after: { anchor: 'created_at', seconds: 3600 } });
    assert.equal(expiring.headers.get('x-parley-ignored'), 'expires_after');
  });

  test('refuses a part above the limit with 413', async () => {
    const upload = await create(1_000_000_0);
    const { status, body } = await sendPart(upload.id, Buffer.alloc(UPLOAD_PART_BYTES_MAX + 1));
    assert.equal(status, 413, JSON.stringify(body));
    const empty = await send(`${ROOT}/${upload.id}/parts`, new FormData());
    assert.equal(empty.status, 400);
  });

  test('counts parts against the quota and releases them when the upload is cancelled', async () => {
    const secret = await getSecret({ workspace: 'small' });
    const upload = await create(800, secret);
    await addPart(upload.id, Buffer.alloc(800), secret);
    const other = await send(ROOT, { purpose: 'batch', filename: 'b', bytes: 500, mime_type: 'x' }, secret);
    assert.match(other.body.error?.message ?? '', /Out of space/);
    const full = await sendPart(upload.id, Buffer.alloc(300), secret);
    assert.match(full.body.error?.message ?? '', /Out of space/);
    const cancelled = await send(`${ROOT}/${upload.id}/cancel`, {}, secret);
    assert.equal(cancelled.body.status, 'cancelled');
    assert.equal((await send(`${ROOT}/${upload.id}/cancel`, {}, secret)).body.status, 'cancelled');
    assert.equal((await sendPart(upload.id, Buffer.alloc(1), secret)).status, 400);
    // A file of more than half of the quota can be completed, because its parts and the file count once.
    const next = await create(800, secret);
    const part = await addPart(next.id, Buffer.alloc(800), secret);
    const { status, body } = await complete(next.id, { part_ids: [part] }, secret);
    assert.equal(status, 200, JSON.stringify(body));
    assert.equal((await send(`${ROOT}/${next.id}/cancel`, {}, secret)).status, 400);
  });

  test('does not find uploads of another workspace or region', async () => {
    const secret = await getSecret({ workspace: 'other' });
    const { id } = await create(1);
    const part = await addPart(id, Buffer.alloc(1));
    for (const attempt of [
      sendPart(id, Buffer.alloc(1), secret),
      complete(id, { part_ids: [part] }, secret),
      send(`${ROOT}/${id}/cancel`, {}, secret),
    ])
      assert.equal((await attempt).status, 404);
    const elsewhere = await getSecret({ region: 'us-east-1' });
    for (const [path, body] of [
      ['complete', { part_ids: [part] }],
      ['cancel', {}],
    ] as const) {
      const response = await fetch(`${getUrl('us-east-1')}${ROOT}/${id}/${path}`, {
        method: 'POST',
        headers: { authorization: `Bearer ${elsewhere}`, 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
      assert.equal(response.status, 404);
    }
    assert.equal((await complete(id, { part_ids: [part] })).status, 200);
  });
});
