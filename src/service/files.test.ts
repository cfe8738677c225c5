import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, test } from 'node:test';
import { setImmediate as yieldToEventLoop } from 'node:timers/promises';
import type { RegionId } from '../core/region.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';

type Fields = Readonly<Record<string, unknown>>;
const md5 = (text: string) => createHash('md5').update(text).digest('hex');

describe('file endpoints of the complete service', () => {
  let nowMs = Date.parse('2026-07-01T12:00:00.500Z');
  const { folder, getUrl, getSecret } = registerTestService({
    config: [
      'regions: {cn-beijing: {port: 0}, us-east-1: {port: 0}}',
      'timezone: Asia/Shanghai',
      'files: {fileBytesMax: 2000, totalBytesMax: 5000, countMax: 4, urlSeconds: 60, workspaces: {large: {countMax: 5}}}',
    ].join('\n'),
    clock: { now: () => nowMs, monotonic: () => performance.now() },
  });
  const scopes = new Map<string, TenantScope>();

  interface TenantScope {
    readonly workspace: string;
    readonly region?: RegionId;
  }
  const call = async (place: TenantScope, method: string, path: string, form?: FormData) => {
    scopes.set(`${place.workspace} ${place.region ?? 'cn-beijing'}`, place);
    const response = await fetch(`${getUrl(place.region)}${path}`, {
      method,
      headers: { authorization: `Bearer ${await getSecret(place)}` },
      ...(form ? { body: form } : {}),
    });
    const text = await response.text();
    const body = response.headers.get('content-type') === 'application/json' ? (JSON.parse(text) as Fields) : {};
    return { status: response.status, text, body, headers: response.headers };
  };
  const createForm = (...entries: readonly (readonly [string, string, string?])[]): FormData => {
    const form = new FormData();
    for (const [name, value, fileName] of entries) {
      if (fileName === undefined) form.append(name, value);
      else form.append(name, new Blob([value]), fileName);
    }
    return form;
  };
  const upload = async (place: TenantScope, ...entries: readonly (readonly [string, string, string?])[]) => {
    const { status, body } = await call(place, 'POST', '/api/v1/files', createForm(...entries));
    assert.equal(status, 200, JSON.stringify(body));
    return body['data'] as {
      readonly uploaded_files: readonly { readonly name: string; readonly file_id: string }[];
      readonly failed_uploads: readonly { readonly name: string; readonly code: string; readonly message: string }[];
    };
  };
  const getRecord = async (place: TenantScope, id: string) =>
    (await call(place, 'GET', `/api/v1/files/${id}`)).body['data'] as Fields & { readonly url: string };

  test('lists the files of one upload in its order, before those of earlier uploads, and gives all one description', async () => {
    const place = { workspace: 'orders' };
    const names = ['0.txt', '1.txt', '2.txt'];
    await upload(place, ['files', 'x', 'earlier.txt']);
    await upload(place, ['descriptions', 'of all'], ...names.map((name) => ['files', 'x', name] as const));
    const { body } = await call(place, 'GET', '/api/v1/files');
    const { files } = body['data'] as { readonly files: readonly Fields[] };
    assert.deepEqual(
      files.map(({ name, description }) => [name, description]),
      [...names.map((name) => [name, 'of all']), ['earlier.txt', '']],
    );
  });

  test('returns uploads and records with all documented fields', async () => {
    const place = { workspace: 'records' };
    const data = await upload(
      place,
      ['files', 'one', 'a.jsonl'],
      ['descriptions', 'first'],
      ['file', 'second!', 'b.txt'],
      ['descriptions', 'second'],
      ['x', '1'],
    );
    assert.deepEqual(data.failed_uploads, []);
    assert.deepEqual(
      data.uploaded_files.map(({ name }) => name),
      ['a.jsonl', 'b.txt'],
    );
    const [first, second] = data.uploaded_files.map(({ file_id }) => file_id);
    const { url, ...fields } = await getRecord(place, second ?? '');
    assert.deepEqual(fields, {
      id: fields['id'],
      name: 'b.txt',
      description: 'second',
      purpose: 'fine-tune',
      size: 7,
      md5: md5('second!'),
      region: 'cn-beijing',
      file_id: second,
      user_id: 'records',
      api_key_id: fields['api_key_id'],
      gmt_create: '2026-07-01 20:00:00',
    });
    assert.ok(Number.isInteger(fields['id']) && String(fields['api_key_id']).startsWith('key_'));
    assert.match(
      url,
      /^http:\/\/127\.0\.0\.1:\d+\/downloads\/file-ft-[0-9a-f]{32}\?expires=\d+&key=key_[0-9a-f]{32}&signature=[\w-]{43}$/,
    );

    const listed: unknown[] = [];
    for (const number of [1, 2]) {
      const list = await call(place, 'GET', `/api/v1/files?page_size=1&page_no=${number}`);
      const { files, ...page } = list.body['data'] as { readonly files: readonly Fields[] };
      assert.deepEqual(page, { total: 2, page_no: number, page_size: 1 });
      assert.deepEqual(Object.keys(list.body), ['data', 'request_id']);
      listed.push(...files.map(({ file_id }) => file_id));
    }
    assert.deepEqual(listed, [first, second]);
    const none = await call(place, 'GET', '/api/v1/files?purpose=batch');
    assert.deepEqual(none.body['data'], { total: 0, files: [], page_no: 1, page_size: 10 });

    const gone = await call(place, 'DELETE', `/api/v1/files/${first}`);
    assert.deepEqual([gone.status, Object.keys(gone.body)], [200, ['request_id']]);
    for (const method of ['GET', 'DELETE']) {
      const { status, body } = await call(place, method, `/api/v1/files/${first}`);
      assert.deepEqual([status, body['code'], body['message']], [400, 'InvalidParameter', 'File not found.']);
    }
  });

  test('accepts alternative field names, and treats an empty purpose as absent', async () => {
    const place = { workspace: 'spellings' };
    const { uploaded_files: pair } = await upload(
      place,
      ['purpose', ''],
      ['files[]', 'one', 'a'],
      ['files[]', 'two', 'b'],
      ['description', 'first'],
      ['description', 'second'],
    );
    const records = await Promise.all(pair.map(({ file_id }) => getRecord(place, file_id)));
    assert.deepEqual(
      records.map(({ name, description, purpose }) => [name, description, purpose]),
      [
        ['a', 'first', 'fine-tune'],
        ['b', 'second', 'fine-tune'],
      ],
    );
    const { uploaded_files: batch } = await upload(place, ['purpose', 'batch'], ['purpose', ''], ['files', 'x', 'x']);
    assert.match(batch[0]?.file_id ?? '', /^file-batch-/);
  });

  test('stores the other files of an upload when one is refused', async () => {
    const place = { workspace: 'large' };
    const full = 'x'.repeat(2000);
    const data = await upload(
      place,
      ['files', `${full}x`, 'dir/big.bin'],
      ['files', full, 'a'],
      ['files', full, 'b'],
      ['files', 'x'.repeat(1001), 'c'],
      ['files', 'd', 'd'],
      ['files', 'e', 'e'],
      ['files', 'f', 'f'],
      ['files', 'g', 'g'],
    );
    assert.deepEqual(
      data.uploaded_files.map(({ name }) => name),
      ['a', 'b', 'd', 'e', 'f'],
    );
    assert.deepEqual(data.failed_uploads, [
      {
        name: 'big.bin',
        code: 'BadRequest.TooLarge',
        message: 'Payload Too Large. A file may have at most 2000 bytes.',
      },
      {
        name: 'c',
        code: 'BadRequest.TooLarge',
        message: 'Out of space, 4000 of 5000 bytes has been used. Delete files to upload more.',
      },
      {
        name: 'g',
        code: 'BadRequest.TooMany',
        message: 'Out of number, 5 of 5 files has been uploaded. Delete files to upload more.',
      },
    ]);
    const other = { workspace: 'small' };
    const five = await upload(other, ...['a', 'b', 'c', 'd', 'e'].map((name) => ['files', name, name] as const));
    assert.deepEqual([five.uploaded_files.length, five.failed_uploads.length], [4, 1]);
  });

  test('serves the same file in both file APIs', async () => {
    const place = { workspace: 'faces' };
    const created = await call(
      place,
      'POST',
      '/v1/files',
      createForm(['file', '{}\n', 'a.jsonl'], ['purpose', 'batch'], ['expires_after[anchor]', 'x']),
    );
    const id = String(created.body['id']);
    const object = {
      id,
      object: 'file',
      bytes: 3,
      filename: 'a.jsonl',
      purpose: 'batch',
      status: 'processed',
      created_at: 1782907200,
    };
    assert.deepEqual([created.status, created.text], [200, JSON.stringify(object)]);
    assert.match(id, /^file-batch-[0-9a-f]{32}$/);
    assert.equal(created.headers.get('x-parley-ignored'), 'expires_after[anchor]');
    assert.deepEqual((await call(place, 'GET', `/compatible-mode/v1/files/${id}`)).body, object);
    const content = await call(place, 'GET', `/v1/files/${id}/content`);
    assert.deepEqual([content.text, content.headers.get('content-type')], ['{}\n', 'application/octet-stream']);
    assert.equal((await getRecord(place, id))['file_id'], id);
    assert.deepEqual((await call(place, 'DELETE', `/v1/files/${id}`)).body, { id, object: 'file', deleted: true });
    for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`])
      assert.equal((await call(place, 'GET', path)).status, 404);
  });

  test('pages and filters the OpenAI-compatible list, also after the id of a deleted file', async () => {
    const place = { workspace: 'pages' };
    const ids: string[] = [];
    for (const purpose of ['batch', 'file-extract', 'batch']) {
      nowMs += 1000;
      const { body } = await call(place, 'POST', '/v1/files', createForm(['purpose', purpose], ['file', 'x', 'x']));
      ids.unshift(String(body['id']));
      // Ids sort by creation time, so the next file needs a later millisecond.
      for (const made = Date.now(); Date.now() === made;) await yieldToEventLoop();
    }
    const list = async (query: string) => {
      const { body } = await call(place, 'GET', `/v1/files?${query}`);
      return [(body['data'] as { id: string }[]).map(({ id }) => ids.indexOf(id)), body['has_more']];
    };
    assert.deepEqual(await list(''), [[0, 1, 2], false]);
    assert.deepEqual(await list('limit=&after=&purpose=&create_after=&create_before='), [[0, 1, 2], false]);
    assert.deepEqual(await list('limit=2'), [[0, 1], true]);
    assert.deepEqual(await list('purpose=batch'), [[0, 2], false]);
    assert.deepEqual(await list('create_after=20260701200002&create_before=20260701200002'), [[1], false]);
    assert.deepEqual(await list(`limit=1&after=${ids[0]}`), [[1], true]);
    await call(place, 'DELETE', `/v1/files/${ids[1]}`);
    assert.deepEqual(await list(`after=${ids[1]}`), [[2], false]);
    for (const query of ['limit=0', 'limit=2001', 'create_after=x', 'create_before=20261399000000', 'after=x']) {
      const { status, body } = await call(place, 'GET', `/v1/files?${query}`);
      assert.deepEqual([status, (body['error'] as { param: string }).param], [400, query.split('=')[0]], query);
    }
  });

  test('refuses invalid purposes and missing files without storing anything', async () => {
    const place = { workspace: 'refusals' };
    const message = "'purpose' must be 'fine-tune' or 'file-extract' or 'batch'";
    for (const entries of [
      [
        ['purpose', 'x'],
        ['file', 'x', 'x'],
      ],
      [
        ['file', 'x', 'x'],
        ['purpose', 'assistants'],
      ],
      [['file', 'x', 'x']],
    ] as const) {
      const { status, body } = await call(place, 'POST', '/v1/files', createForm(...entries));
      assert.deepEqual(
        [status, body],
        [400, { error: { message, type: 'invalid_request_error', param: 'purpose', code: null } }],
      );
    }
    for (const [path, entries, param] of [
      ['/v1/files', [['purpose', 'batch']], 'file'],
      [
        '/v1/files',
        [
          ['purpose', 'batch'],
          ['file', 'text'],
        ],
        'file',
      ],
      [
        '/v1/files',
        [
          ['purpose', 'batch'],
          ['file', 'x', 'x'],
          ['file', 'x', 'x'],
        ],
        'file',
      ],
    ] as const) {
      const { status, body } = await call(place, 'POST', path, createForm(...entries));
      assert.deepEqual([status, (body['error'] as { param: string }).param], [400, param]);
    }
    for (const [entries, expected] of [
      [
        [
          ['files', 'x', 'x'],
          ['purpose', 'x'],
        ],
        /purpose must be one of fine-tune, file-extract, batch \(purpose: "x"\)/,
      ],
      [[['descriptions', 'x']], /\(files\)/],
      [[['files', 'text']], /files must be a file/],
      [
        [
          ['files', 'x', 'x'],
          ['descriptions', 'x'.repeat(1001)],
        ],
        /descriptions must have at most 1000 characters/,
      ],
    ] as const) {
      const { status, body } = await call(place, 'POST', '/api/v1/files', createForm(...entries));
      assert.deepEqual([status, body['code']], [400, 'InvalidParameter']);
      assert.match(String(body['message']), expected);
    }
    const tooLarge = await call(
      place,
      'POST',
      '/v1/files',
      createForm(['purpose', 'batch'], ['file', 'x'.repeat(2001), 'x']),
    );
    assert.equal(tooLarge.status, 413);
    const { body } = await call(place, 'GET', '/api/v1/files');
    assert.deepEqual(body['data'], { total: 0, files: [], page_no: 1, page_size: 10 });
    const later = await upload(
      place,
      ...['a', 'b', 'c', 'd'].map((name) => ['files', 'x'.repeat(1250), name] as const),
    );
    assert.deepEqual(later.failed_uploads, []);
  });

  test('hides files of other workspaces and regions, and strips paths from names', async () => {
    const place = { workspace: 'own' };
    const {
      uploaded_files: [file],
    } = await upload(place, ['files', 'x', '../../etc/passwd']);
    assert.equal(file?.name, 'passwd');
    for (const otherScope of [{ workspace: 'stranger' }, { workspace: 'own', region: 'us-east-1' }] as const) {
      for (const [method, path] of [
        ['GET', `/v1/files/${file?.file_id}`],
        ['GET', `/v1/files/${file?.file_id}/content`],
        ['DELETE', `/v1/files/${file?.file_id}`],
      ] as const) {
        assert.equal((await call(otherScope, method, path)).status, 404);
      }
      assert.deepEqual((await call(otherScope, 'GET', '/v1/files')).body, {
        object: 'list',
        data: [],
        has_more: false,
      });
    }
  });

  test('serves a signed link without a key, as a download, for its file and lifetime only', async () => {
    const place = { workspace: 'links' };
    const html = '<script>alert(1)</script>';
    const { uploaded_files: pair } = await upload(place, ['files', html, 'ü".html'], ['files', 'y', 'y']);
    const { url } = await getRecord(place, pair[0]?.file_id ?? '');
    const response = await fetch(url);
    assert.deepEqual([response.status, await response.text()], [200, html]);
    const headerNames = [
      'content-type',
      'content-disposition',
      'x-content-type-options',
      'content-security-policy',
      'cross-origin-resource-policy',
      'cache-control',
    ];
    assert.deepEqual(
      headerNames.map((name) => response.headers.get(name)),
      [
        'application/octet-stream',
        `attachment; filename="__.html"; filename*=UTF-8''%C3%BC%22.html`,
        'nosniff',
        "default-src 'none'; sandbox",
        'same-origin',
        'private, no-store',
      ],
    );
    const part = await fetch(url, { headers: { range: 'bytes=1-6' } });
    assert.deepEqual([part.status, await part.text()], [206, 'script']);
    const expectForbidden = async (address: string) => {
      const { status, body } = await fetch(address).then(async (each) => ({
        status: each.status,
        body: (await each.json()) as Fields,
      }));
      assert.deepEqual(
        [status, body['code'], Object.keys(body)],
        [403, 'AccessDenied', ['code', 'message', 'request_id']],
        address,
      );
    };
    await expectForbidden(url.replace(pair[0]?.file_id ?? '', pair[1]?.file_id ?? ''));
    await expectForbidden(url.replace(/expires=\d+/, 'expires=9999999999'));
    await expectForbidden(url.replace(/key=\w+/, 'key=key_0'));
    await expectForbidden(url.replace(/signature=.*/, 'signature='));
    await expectForbidden(url.replace(/\?.*/, ''));
    nowMs += 61_000;
    await expectForbidden(url);
    const { url: again } = await getRecord(place, pair[0]?.file_id ?? '');
    await call(place, 'DELETE', `/v1/files/${pair[0]?.file_id}`);
    const gone = (await fetch(again)).status;
    assert.equal(gone, 400);
    assert.equal(statSync(join(folder, 'download-secret')).mode & 0o777, 0o600);
  });

  test('keeps no bytes of refused or deleted files', async () => {
    const blobs = join(folder, 'blobs');
    const stored = readdirSync(blobs, { recursive: true, encoding: 'utf8' }).filter((path) => path.includes('upload_'));
    let files = 0;
    for (const place of scopes.values()) {
      const { body } = await call(place, 'GET', '/api/v1/files');
      files += (body['data'] as { total: number }).total;
    }
    assert.deepEqual([stored.length, stored.filter((path) => path.startsWith('incoming'))], [files, []]);
  });
});
