import assert from 'node:assert/strict';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { loadConfig } from '../config/load-config.ts';
import type { RegionId } from '../core/region.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore } from '../store/store.ts';
import { createService, type Service } from './service.ts';

const DAY_MS = 86_400_000;
const REGIONS = ['cn-beijing', 'ap-southeast-1', 'us-east-1'] as const;

describe('conversation endpoints of the complete service', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-conversations-'));
  let service: Service | undefined;
  const urls = new Map<string, string>();

  before(async () => {
    const quiet = () => undefined;
    const regions = REGIONS.map((id) => `${id}: {port: 0}`).join(', ');
    writeFileSync(join(folder, 'parley.yaml'), `regions: {${regions}}\nretention: {conversationsDays: 30}\n`);
    const earlier = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
    for (const [id, createdAt] of [
      ['conv_old', Date.now() - 31 * DAY_MS],
      ['conv_young', Date.now() - 29 * DAY_MS],
    ] as const) {
      const record = { id, region: 'cn-beijing', workspace: 'primary', createdAt, metadata: new Map() } as const;
      await earlier.conversations.insert(record, { nextPosition: 0 });
    }
    await earlier.close();
    const env = { PARLEY_DATA: folder, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' };
    service = await createService(loadConfig({ env }).config, { log: { info: quiet, warn: quiet, error: quiet } });
    for (const { url, region } of await service.listen()) urls.set(region, url);
  });
  after(async () => {
    await service?.close();
    rmSync(folder, { recursive: true });
  });

  const createSecret = async (region: RegionId, workspace: string): Promise<string> => {
    const key = await service?.keys.create({ region, workspace, name: '', expiresAt: undefined });
    return key?.secret ?? assert.fail();
  };
  const createCaller =
    (region: RegionId, key: string) =>
    async (
      method: string,
      path: string,
      body?: string,
    ): Promise<{ readonly status: number; readonly text: string }> => {
      const headers = { authorization: `Bearer ${key}`, 'content-type': 'application/json' };
      const answer = await fetch(`${urls.get(region)}${path}`, {
        method,
        headers,
        ...(body === undefined ? {} : { body }),
      });
      return { status: answer.status, text: await answer.text() };
    };
  const parseId = ({ text }: { readonly text: string }): string => (JSON.parse(text) as { id: string }).id;

  test('stores every metadata key of a conversation, also on the short path', async () => {
    const ask = createCaller('cn-beijing', await createSecret('cn-beijing', 'primary'));
    const metadata = '{"__proto__":"a","topic":"b"}';
    const created = await ask('POST', '/compatible-mode/v1/conversations', `{"metadata":${metadata}}`);
    assert.equal(created.status, 200);
    const found = await ask('GET', `/v1/conversations/${parseId(created)}`);
    assert.ok(found.text.endsWith(`"metadata":${metadata}}`), found.text);
    assert.equal((await ask('POST', '/v1/conversations')).status, 200);
  });

  test('hides conversations of other workspaces and regions', async () => {
    const ask = createCaller('cn-beijing', await createSecret('cn-beijing', 'primary'));
    const path = `/v1/conversations/${parseId(await ask('POST', '/v1/conversations', '{}'))}`;
    const others = [
      createCaller('cn-beijing', await createSecret('cn-beijing', 'team-7')),
      createCaller('ap-southeast-1', await createSecret('ap-southeast-1', 'primary')),
    ];
    for (const other of others) {
      for (const method of ['GET', 'DELETE']) {
        const { status, text } = await other(method, path);
        assert.equal(status, 404);
        assert.match(text, /Conversation with id 'conv_[0-9a-f]{32}' not found\./);
      }
    }
    assert.equal((await ask('GET', path)).status, 200);
  });

  test('deletes conversations that exceed the configured age', async () => {
    const ask = createCaller('cn-beijing', await createSecret('cn-beijing', 'primary'));
    for (const deadline = performance.now() + 10_000; ;) {
      if ((await ask('GET', '/v1/conversations/conv_old')).status === 404) break;
      assert.ok(performance.now() < deadline, 'the old conversation still exists');
    }
    assert.equal((await ask('GET', '/v1/conversations/conv_young')).status, 200);
  });

  test('refuses a region that does not offer conversations', async () => {
    const ask = createCaller('us-east-1', await createSecret('us-east-1', 'primary'));
    const { status, text } = await ask('POST', '/v1/conversations', '{}');
    assert.equal(status, 403);
    assert.match(text, /\(cn-beijing\), Singapore \(ap-southeast-1\)/);
  });
});
