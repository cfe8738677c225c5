import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import { createService, type Service } from './service.ts';

const quiet = () => undefined;

describe('a service whose database another process found damaged', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-damaged-'));
  let service: Service;
  let url = '';
  before(async () => {
    const env = { PARLEY_DATA: folder, PARLEY_PORT: '0', PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    const log = { info: quiet, warn: quiet, error: quiet };
    service = await createService(loadConfig({ env }).config, {
      log,
      jobHandlers: {},
      databaseProblem: 'page 7 is junk',
    });
    const [listener] = await service.listen();
    url = listener?.url ?? assert.fail();
  });
  after(async () => {
    await service.close();
    rmSync(folder, { recursive: true });
  });

  it('refuses requests with 503 and no details', async () => {
    const { secret } =
      (await service.keys.create({ region: 'cn-beijing', workspace: 'w', name: '', expiresAt: undefined })) ??
      assert.fail();
    const response = await fetch(`${url}/v1/models`, { headers: { authorization: `Bearer ${secret}` } });
    assert.equal(response.status, 503);
    const text = await response.text();
    assert.match(text, /The database of the service is damaged/);
    assert.ok(!text.includes('page 7'));
  });

  it('is not ready, with the reason, and alive', async () => {
    const ready = await fetch(`${url}/ready`);
    assert.deepEqual([ready.status, ((await ready.json()) as { reason: string }).reason], [503, 'page 7 is junk']);
    assert.equal((await fetch(`${url}/health`)).status, 200);
  });
});
