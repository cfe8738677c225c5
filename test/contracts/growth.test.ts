import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { Kysely } from 'kysely';
import { systemClock } from '../../src/lib/clock.ts';
import { migrate } from '../../src/store/migrate.ts';
import { MIGRATIONS } from '../../src/store/migrations/migrations.ts';
import { listReferencedBlobs } from '../../src/store/referenced-blobs.ts';
import type { Database } from '../../src/store/schema/database.ts';
import type { Store } from '../../src/store/store.ts';
import { describeOnDialects } from './__fixtures__/describe-on-dialects.ts';
import { DIALECTS } from './__fixtures__/dialects.ts';

const NOW = 1_790_000_000_123;
const SCOPE = { region: 'cn-beijing', workspace: 'primary' } as const;
const OWNER = { ...SCOPE, key_id: 'key_1' } as const;
const SIZE = 2 ** 33;

describeOnDialects('ended rows', ({ onOpen }) => {
  let store: Store;
  onOpen((opened) => void ({ store } = opened));

  it('lists batches that ended, oldest first, and removes no other', async () => {
    const fields = { endpoint: '/v1/chat/completions', inputFileId: 'file_1', completionWindow: '24h', windowMs: 1 };
    for (const [id, endedAt, linesUntil] of [
      ['batch_b', NOW - 2],
      ['batch_a', NOW - 3],
      ['batch_lines', NOW - 3, 1],
      ['batch_young', NOW],
      ['batch_running', undefined],
    ] as const) {
      const blobs = { inputBlob: 'input', outputBlob: `o_${id}`, errorBlob: `e_${id}` };
      const batch = { ...SCOPE, ...fields, ...blobs, id, keyId: 'key_1', metadata: new Map(), createdAt: 0, name: '' };
      await store.batches.insert(batch);
      if (endedAt !== undefined) await store.batches.update(id, { status: 'completed', endedAt, linesUntil });
    }
    assert.deepEqual(await store.batches.listEndedBefore({ before: NOW, limit: 9 }), ['batch_a', 'batch_b']);
    assert.deepEqual(await store.batches.listEndedBefore({ before: NOW, limit: 1 }), ['batch_a']);
    assert.deepEqual(
      await Promise.all(['batch_a', 'batch_a', 'batch_running'].map((id) => store.batches.removeEnded(id))),
      [true, false, false],
    );
    assert.ok(await store.batches.find(SCOPE, 'batch_running'));
  });

  it('lists old files, without inputs of batches that have not ended', async () => {
    const metadata = { name: '', description: '', purpose: 'batch', sizeBytes: 1, md5: '', number: 1 };
    // `file_1` is the input of batches above, of which one runs.
    for (const [id, createdAt] of [
      ['file_1', NOW - 3],
      ['file_b', NOW - 1],
      ['file_a', NOW - 2],
      ['file_young', NOW],
    ] as const) {
      const reservation = { ...SCOPE, blob: `upload_${id}`, keyId: 'key_1', bytes: 1, leaseUntil: NOW, at: NOW };
      await store.files.reserve(reservation);
      await store.files.activate(reservation.blob, { ...metadata, id, sortKey: id, createdAt });
    }
    const list = async (limit: number) =>
      (await store.files.listCreatedBefore({ before: NOW, limit })).map(({ id }) => id);
    assert.deepEqual([await list(9), await list(1)], [['file_a', 'file_b'], ['file_a']]);
  });

  it('removes keys that were revoked or expired before a time, at most so many', async () => {
    for (const [id, revokedAt, expiresAt] of [
      ['key_revoked', NOW - 1, undefined],
      ['key_expired', undefined, NOW - 1],
      ['key_young', NOW, NOW],
      ['key_valid', undefined, undefined],
    ] as const) {
      const record = { ...SCOPE, id, name: '', hint: 'wxyz', createdAt: 0, expiresAt, revokedAt, usedAt: undefined };
      await store.keys.insert({ record, hash: `hash-${id}` });
    }
    const counts: number[] = [];
    for (let run = 0; run < 3; run += 1) counts.push(await store.keys.removeEnded({ before: NOW, limit: 1 }));
    assert.deepEqual(counts, [1, 1, 0]);
    assert.deepEqual(
      (await store.keys.list({ limit: 9 })).map(({ id }) => id),
      ['key_valid', 'key_young'],
    );
  });

  it('lists the usage of all workspaces, largest first', async () => {
    for (const [workspace, bytes] of [
      ['small', 1],
      ['large', SIZE],
    ] as const) {
      const scope = { ...SCOPE, workspace };
      await store.transaction(async ({ fileTotals }) => {
        await fileTotals.lockUsage(scope);
        await fileTotals.addUsage(scope, { files: 1, bytes });
      });
    }
    assert.deepEqual(await store.fileTotals.listAll(), [
      { ...SCOPE, workspace: 'large', files: 1, bytes: SIZE },
      { ...SCOPE, workspace: 'small', files: 1, bytes: 1 },
    ]);
  });
});

describe('referenced blobs', () => {
  for (const { name, dialect: createDialect } of DIALECTS) {
    it(`are those of active files, parsed texts, parts of pending uploads and waiting audio, on ${name}`, async () => {
      const folder = await mkdtemp(join(tmpdir(), 'parley-blobs-'));
      const dialect = createDialect(folder);
      const db = new Kysely<Database>({ dialect: await dialect.open() });
      try {
        await migrate(db, { dialect, migrations: MIGRATIONS, clock: systemClock });
        await insertRows(db);
        const blobs = await listReferencedBlobs(db, new Set(MIGRATIONS.map((migration) => migration.name)));
        assert.deepEqual(
          blobs.map(({ name: blob, sizeBytes, md5, isRequired }) => [blob, sizeBytes, md5, isRequired]),
          [
            ['upload_active', SIZE, 'abc', true],
            ['text_parsed', 7, undefined, true],
            ['upload_part', 5, undefined, true],
            ['audio_waiting', 9, undefined, false],
          ],
        );
        // A database of the first release has none of these tables.
        assert.deepEqual(await listReferencedBlobs(db, new Set(['0001-keys'])), []);
      } finally {
        await db.destroy();
        await rm(folder, { recursive: true });
      }
    });
  }
});

async function insertRows(db: Kysely<Database>): Promise<void> {
  const file = { ...OWNER, bytes: SIZE, changed_at: NOW };
  const active = {
    state: 'active',
    id: 'file_1',
    sort_key: 'a',
    number: 1,
    name: '',
    purpose: 'batch',
    md5: 'abc',
  } as const;
  await db
    .insertInto('files')
    .values({ ...file, ...active, blob: 'upload_active' })
    .execute();
  for (const [blob, state] of [
    ['upload_part', 'reserved'],
    ['upload_gone_part', 'deleting'],
    ['upload_incomplete', 'reserved'],
    ['upload_deleted', 'deleting'],
  ] as const)
    await db
      .insertInto('files')
      .values({ ...file, blob, state, lease_until: NOW })
      .execute();
  const text = { changed_at: NOW, bytes: 7 };
  for (const [blob, state, text_blob] of [
    ['upload_active', 'parsed', 'text_parsed'],
    ['upload_deleted', 'parsed', 'text_deleted'],
    ['upload_incomplete', 'waiting', 'text_waiting'],
  ] as const)
    await db
      .insertInto('texts')
      .values({ ...text, blob, state, text_blob })
      .execute();
  const upload = { ...OWNER, name: '', purpose: 'batch', size_bytes: 5, created_at: NOW, expires_at: NOW };
  await db
    .insertInto('uploads')
    .values([
      { ...upload, id: 'pending', status: 'pending' },
      { ...upload, id: 'cancelled', status: 'cancelled' },
    ])
    .execute();
  const part = { size_bytes: 5, created_at: NOW };
  for (const [id, upload_id, blob] of [
    ['1', 'pending', 'upload_part'],
    ['2', 'cancelled', 'upload_incomplete'],
    ['3', 'pending', 'upload_gone_part'],
  ] as const)
    await db
      .insertInto('upload_parts')
      .values({ ...part, id, upload_id, blob })
      .execute();
  const audio = { task_id: 'task_1', source: 'https://example.com' };
  for (const [number, state, source_blob, source_bytes] of [
    [0, 'waiting', 'audio_waiting', 9],
    [1, 'waiting', 'audio_partial', null],
    [2, 'succeeded', 'audio_done', 9],
  ] as const)
    await db
      .insertInto('transcription_parts')
      .values({ ...audio, number, state, source_blob, source_bytes })
      .execute();
}
