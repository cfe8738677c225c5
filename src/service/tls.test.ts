import { join } from 'node:path';
import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { FIRST_TLS_FILES, SECOND_TLS_FILES, sendSecurely } from '../http/__fixtures__/tls-files.ts';
import { registerTestService } from './__fixtures__/register-test-service.ts';
import { createService } from './service.ts';

const { cert, key } = FIRST_TLS_FILES;

describe('a service with a certificate', () => {
  const place = registerTestService({
    config: `tls: {cert: '${cert}', key: '${key}'}\nregions: {cn-beijing: {port: 0}}\n`,
  });

  test('serves and names https addresses, also in download links', async () => {
    const url = place.getUrl();
    assert.match(url, /^https:\/\/127\.0\.0\.1:\d+$/);
    const authorization = `Bearer ${await place.getSecret()}`;
    const boundary = 'parts';
    const body = [
      'name="purpose"\r\n\r\nfile-extract',
      'name="files"; filename="a.txt"\r\ncontent-type: text/plain\r\n\r\nHello.',
    ]
      .map((part) => `--${boundary}\r\ncontent-disposition: form-data; ${part}\r\n`)
      .join('');
    const uploaded = await sendSecurely(`${url}/api/v1/files`, {
      method: 'POST',
      headers: { authorization, 'content-type': `multipart/form-data; boundary=${boundary}` },
      body: `${body}--${boundary}--\r\n`,
    });
    assert.equal(uploaded.status, 200, uploaded.text);
    const [{ file_id: id }] = JSON.parse(uploaded.text).data.uploaded_files;
    const file = await sendSecurely(`${url}/api/v1/files/${id}`, { headers: { authorization } });
    const link: string = JSON.parse(file.text).data.url;
    assert.ok(link.startsWith(`${url}/`), link);
    assert.equal((await sendSecurely(link)).text, 'Hello.');
  });

  test('is not started with files that do not belong together', async () => {
    const env = {
      PARLEY_DATA: join(place.folder, 'other'),
      PARLEY_ENGINE_KIND: 'scripted',
      PARLEY_TLS_CERT: cert,
      PARLEY_TLS_KEY: SECOND_TLS_FILES.key,
    };
    const log = { info: () => undefined, warn: () => undefined, error: () => undefined };
    await assert.rejects(createService(loadConfig({ env }).config, { log }), {
      kind: 'invalid-request',
      param: 'tls.key',
    });
  });
});
