import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import type { RegionId } from '../core/region.ts';
import { createKeys } from '../resources/keys/service.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore, type Store } from '../store/store.ts';
import { createKeysCommand } from './keys-command.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const clock = { now: () => NOW, monotonic: () => 0 };

describe('parley keys', () => {
  let folder = '';
  /** Connection of the running server. Each command opens and closes a connection of its own. */
  let server: Store;
  let opened = 0;
  beforeEach(async () => {
    opened = 0;
    folder = await mkdtemp(join(tmpdir(), 'parley-keys-'));
    server = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
  });
  afterEach(async () => {
    assert.equal(opened, 0, 'a command has left the database open');
    await server.close();
    await rm(folder, { recursive: true });
  });

  let warnings = '';

  async function run(args: readonly string[], regions: readonly RegionId[] = ['cn-beijing']): Promise<string> {
    let output = '';
    warnings = '';
    const command = createKeysCommand({
      clock,
      stdout: { write: (text) => (output += text) },
      stderr: { write: (text) => (warnings += text) },
      open: async () => {
        const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
        opened += 1;
        const close = async () => {
          opened -= 1;
          await store.close();
        };
        return { keys: createKeys({ store, clock }), regions, close };
      },
    });
    await command.parseAsync(args, { from: 'user' });
    return output;
  }

  it('creates a key that a running server accepts and prints one JSON object only', async () => {
    const output = await run('create --region us-east-1 --workspace team-7 --name ci --expires 30d --json'.split(' '));
    assert.equal(output.indexOf('\n'), output.length - 1);
    const { id, key, hint, ...rest } = JSON.parse(output);
    assert.match(id, /^key_/);
    assert.equal(hint, key.slice(-4));
    assert.deepEqual(rest, {
      region: 'us-east-1',
      workspace: 'team-7',
      name: 'ci',
      state: 'active',
      createdAt: '2026-07-01T12:00:00.000Z',
      expiresAt: '2026-07-31T12:00:00.000Z',
      revokedAt: null,
      lastUsedAt: null,
    });
    const check = await createKeys({ store: server, clock }).authenticate(key);
    assert.ok(check.status === 'valid' && check.record.id === id);
  });

  it('warns on stderr about a region that is not configured', async () => {
    await run(['create', '--region', 'cn-beijing']);
    assert.equal(warnings, '');
    const { region } = JSON.parse(await run(['create', '--region', 'us-east-1', '--json']));
    assert.equal(region, 'us-east-1');
    assert.match(
      warnings,
      /^parley: the region us-east-1 is not configured; the key works once it is \(configured: cn-beijing\)/,
    );
  });

  it('defaults to the primary workspace and the only region', async () => {
    const { region, workspace } = JSON.parse(await run(['create', '--json']));
    assert.deepEqual({ region, workspace }, { region: 'cn-beijing', workspace: 'primary' });
    await assert.rejects(run(['create', '--json'], ['cn-beijing', 'us-east-1']), {
      kind: 'invalid-request',
      message: /--region cn-beijing or us-east-1/,
    });
  });

  it('names the invalid option', async () => {
    for (const [args, param] of [
      [['create', '--region', 'mars'], 'region'],
      [['create', '--workspace', 'a b'], 'workspace'],
      [['create', '--expires', 'soon'], 'expires'],
      [['create', '--name', 'x'.repeat(65)], 'name'],
      [['list', '--region', 'mars'], 'region'],
    ] as const) {
      await assert.rejects(run(args), { kind: 'invalid-request', param });
    }
    await assert.rejects(run(['revoke', 'key_nobody']), { kind: 'not-found' });
    await assert.rejects(run(['rotate', 'key_nobody']), { kind: 'not-found' });
  });

  it('lists keys without secrets, by region and workspace, over several pages', async () => {
    const first = JSON.parse(await run(['create', '--json']));
    for (let index = 0; index < 501; index++) {
      await server.keys.insert({
        record: { ...NOBODY, id: `key_f${String(index).padStart(4, '0')}` },
        hash: `hash ${index}`,
      });
    }
    const all = JSON.parse(await run(['list', '--json']));
    assert.equal(all.length, 502);
    assert.ok(all.some(({ id }: { id: string }) => id === first.id));
    assert.equal(JSON.parse(await run(['list', '--json', '--workspace', 'flood'])).length, 501);
    assert.deepEqual(JSON.parse(await run(['list', '--json', '--region', 'us-east-1'])), []);
    assert.ok(!(await run(['list'])).includes(first.key));
  });

  it('lists the last use of each key', async () => {
    const used = JSON.parse(await run(['create', '--json', '--name', 'used']));
    await run(['create', '--name', 'unused']);
    await server.keys.recordUses([used.id], NOW - 60_000);
    const [first, second] = JSON.parse(await run(['list', '--json']));
    assert.deepEqual([first.lastUsedAt, second.lastUsedAt], ['2026-07-01T11:59:00.000Z', null]);
    const [, usedLine, unusedLine] = (await run(['list'])).split('\n');
    assert.match(usedLine ?? '', /active +never +2026-07-01T11:59:00\.000Z +used$/);
    assert.match(unusedLine ?? '', /active +never +never +unused$/);
  });

  it('revokes and rotates keys', async () => {
    const old = JSON.parse(await run(['create', '--json', '--name', 'mine']));
    const next = JSON.parse(await run(['rotate', old.id, '--json']));
    assert.equal(next.name, 'mine');
    assert.notEqual(next.key, old.key);
    assert.equal(await run(['revoke', next.id]), `${next.id} revoked\n`);
    const keys = createKeys({ store: server, clock });
    assert.equal((await keys.authenticate(old.key)).status, 'revoked');
    assert.equal((await keys.authenticate(next.key)).status, 'revoked');
  });

  it('rotates a key with an overlap', async () => {
    const old = JSON.parse(await run(['create', '--json']));
    const next = JSON.parse(await run(['rotate', old.id, '--overlap', '24h', '--json']));
    assert.equal(next.expiresAt, null);
    const listed = JSON.parse(await run(['list', '--json'])).find(({ id }: { id: string }) => id === old.id);
    assert.deepEqual([listed.state, Date.parse(listed.expiresAt) - clock.now()], ['active', 24 * 3_600_000]);
    await assert.rejects(run(['rotate', next.id, '--overlap', 'soon']), { message: /^overlap must be a duration/ });
  });

  it('prints a table and the key on its own line without --json', async () => {
    const lines = (await run(['create', '--name', 'mine'])).split('\n');
    assert.match(lines[0] ?? '', /^ID +REGION +WORKSPACE +KEY +STATE +EXPIRES +LAST USE +NAME$/);
    assert.match(lines[1] ?? '', /^key_[0-9a-f]{32} +cn-beijing +primary +….{4} +active +never +never +mine$/);
    assert.match(lines[3] ?? '', /^sk-[0-9A-Za-z]{48}$/);
  });
});

const NOBODY = {
  region: 'cn-beijing',
  workspace: 'flood',
  name: '',
  hint: 'wxyz',
  createdAt: NOW,
  expiresAt: undefined,
  revokedAt: undefined,
  usedAt: undefined,
} as const;
