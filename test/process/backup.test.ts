import assert from 'node:assert/strict';
import { execFile, spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createRestartableServer, send, type RunningServer } from '../crash/restartable-server.ts';
import { getS3ServerSkipReason, startS3Server } from '../s3-server.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const WAIT = { timeoutMs: 60_000 };
const ENGINE_ENV = { PARLEY_ENGINE_KIND: 'scripted', PARLEY_FILES_COUNT_MAX: '100000' };

interface CommandResult {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

const runCommand = (args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<CommandResult> =>
  new Promise((resolve) => {
    execFile(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, ...args],
      { env: { ...process.env, PARLEY_HUB_URL: 'off', ...env } },
      (error, stdout, stderr) => resolve({ code: typeof error?.code === 'number' ? error.code : 0, stdout, stderr }),
    );
  });

/** Runs a command that must succeed, and parses what it prints with `--json`. */
async function runJson<T>(args: readonly string[], env?: Readonly<Record<string, string>>): Promise<T> {
  const { code, stdout, stderr } = await runCommand([...args, '--json'], env);
  assert.equal(code, 0, `${stdout}${stderr}`);
  return JSON.parse(stdout) as T;
}

interface BackupJson {
  readonly id: string;
  readonly blobs: number;
  readonly copied: { readonly count: number };
  readonly files: readonly string[];
  readonly removed: readonly string[];
  readonly problems: readonly unknown[];
}

async function sendJson(server: RunningServer, method: string, path: string, body?: object) {
  const response = await send(server, method, `/v1${path}`, body);
  const text = await response.text();
  assert.equal(response.status, 200, `${method} ${path}: ${text}`);
  return JSON.parse(text) as Record<string, unknown>;
}

async function sendForm(
  { url, key }: RunningServer,
  path: string,
  fields: Record<string, string | Blob>,
): Promise<string> {
  const body = new FormData();
  for (const [name, value] of Object.entries(fields))
    if (typeof value === 'string') body.set(name, value);
    else body.set(name, value, 'a.jsonl');
  const response = await fetch(`${url}/v1${path}`, {
    method: 'POST',
    headers: { authorization: `Bearer ${key}` },
    body,
  });
  const answer = (await response.json()) as { readonly id: string };
  assert.equal(response.status, 200, JSON.stringify(answer));
  return answer.id;
}

const uploadFile = (server: RunningServer, bytes: Buffer<ArrayBuffer>, purpose = 'batch'): Promise<string> =>
  sendForm(server, '/files', { purpose, file: new Blob([bytes]) });

async function readFileContent(server: RunningServer, id: string): Promise<Buffer | undefined> {
  const response = await send(server, 'GET', `/v1/files/${id}/content`);
  const bytes = Buffer.from(await response.arrayBuffer());
  return response.status === 200 ? bytes : undefined;
}

const createBatchInput = (lines: number): Buffer<ArrayBuffer> =>
  Buffer.from(
    Array.from({ length: lines }, (_, at) =>
      JSON.stringify({
        custom_id: String(at),
        method: 'POST',
        url: '/v1/chat/completions',
        body: { model: 'svc-plus', messages: [{ role: 'user', content: `line ${at}` }] },
      }),
    ).join('\n'),
  );

/** Everything that the service has acknowledged so far. */
interface Acknowledged {
  readonly files: Map<string, Buffer>;
  /** Files whose deletion was requested: they may be there or not. */
  readonly deletions: Set<string>;
  readonly items: Map<string, string[]>;
  readonly responses: Map<string, string>;
  readonly batches: string[];
}

/** Sends uploads, deletions, items, responses and batches until it is stopped. */
function startLoad(server: RunningServer, known: Acknowledged): { stop(): Promise<void> } {
  let isStopped = false;
  const repeat = async (work: (at: number) => Promise<void>): Promise<void> => {
    for (let at = 0; !isStopped; at += 1) await work(at);
  };
  const upload = async (): Promise<void> => {
    const bytes = randomBytes(1_000 + Math.floor(Math.random() * 200_000));
    known.files.set(await uploadFile(server, bytes), bytes);
  };
  const deleteOldest = async (): Promise<void> => {
    const id = [...known.files.keys()].find((each) => !known.deletions.has(each));
    if (id === undefined || known.files.size - known.deletions.size < 10) return await upload();
    known.deletions.add(id);
    await sendJson(server, 'DELETE', `/files/${id}`);
  };
  const addItem = async (at: number): Promise<void> => {
    const [id, texts] = [...known.items][at % known.items.size] ?? assert.fail();
    const text = `item ${at}`;
    await sendJson(server, 'POST', `/conversations/${id}/items`, { items: [{ role: 'user', content: text }] });
    texts.push(text);
  };
  const respond = async (at: number): Promise<void> => {
    const { id } = await sendJson(server, 'POST', '/responses', { model: 'svc-plus', input: `turn ${at}` });
    known.responses.set(String(id), `turn ${at}`);
  };
  const runBatch = async (): Promise<void> => {
    const input_file_id = await uploadFile(server, createBatchInput(3));
    const fields = { input_file_id, endpoint: '/v1/chat/completions', completion_window: '24h' };
    known.batches.push(String((await sendJson(server, 'POST', '/batches', fields))['id']));
  };
  const loops = [
    repeat(upload),
    repeat(upload),
    repeat(deleteOldest),
    repeat(addItem),
    repeat(respond),
    repeat(runBatch),
  ];
  return {
    async stop() {
      isStopped = true;
      await Promise.all(loops);
    },
  };
}

const copyAcknowledged = ({ files, deletions, items, responses, batches }: Acknowledged): Acknowledged => ({
  files: new Map(files),
  deletions: new Set(deletions),
  items: new Map([...items].map(([id, texts]) => [id, [...texts]])),
  responses: new Map(responses),
  batches: [...batches],
});

async function assertHasEverything(
  server: RunningServer,
  known: Acknowledged,
  requestedDeletions: ReadonlySet<string>,
) {
  for (const [id, bytes] of known.files) {
    if (requestedDeletions.has(id)) continue;
    assert.ok((await readFileContent(server, id))?.equals(bytes), `file ${id}`);
  }
  for (const [id, texts] of known.items) {
    const list = JSON.stringify(await sendJson(server, 'GET', `/conversations/${id}/items?limit=100&order=asc`));
    for (const text of texts.slice(0, 50)) assert.ok(list.includes(`"${text}"`), `${id} lacks ${text}`);
  }
  for (const [id, text] of known.responses) {
    const { output } = await sendJson(server, 'GET', `/responses/${id}`);
    assert.ok(JSON.stringify(output).includes(text), id);
  }
  for (const id of known.batches) {
    await until(`batch ${id} completes`, WAIT, async () =>
      (await sendJson(server, 'GET', `/batches/${id}`))['status'] === 'completed' ? true : undefined,
    );
  }
}

/** Reads every file that the API lists. @returns their number. */
async function assertNothingDangles(server: RunningServer): Promise<number> {
  let count = 0;
  for (let after = '', hasMore = true; hasMore;) {
    const page = await sendJson(server, 'GET', `/files?limit=100${after === '' ? '' : `&after=${after}`}`);
    const files = page['data'] as readonly { readonly id: string; readonly bytes: number }[];
    for (const { id, bytes } of files) assert.equal((await readFileContent(server, id))?.length, bytes, `file ${id}`);
    count += files.length;
    hasMore = page['has_more'] === true && files.length > 0;
    after = files.at(-1)?.id ?? '';
  }
  return count;
}

describe('backup of a service under load', () => {
  let folder = '';
  const stops: (() => Promise<void>)[] = [];
  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'parley-backup-'));
  });
  after(async () => {
    for (const stop of stops) await stop();
    await rm(folder, { recursive: true });
  });
  const startServer = async (data: string): Promise<RunningServer> => {
    const testServer = createRestartableServer({ data, env: ENGINE_ENV });
    stops.push(() => testServer.stop('SIGKILL'));
    return await testServer.start();
  };

  it('has everything that was acknowledged before it began, and nothing that dangles', async () => {
    const data = join(folder, 'data');
    const target = join(folder, 'target');
    const server = await startServer(data);
    const known: Acknowledged = {
      files: new Map(),
      deletions: new Set(),
      items: new Map(),
      responses: new Map(),
      batches: [],
    };
    for (let at = 0; at < 3; at += 1)
      known.items.set(String((await sendJson(server, 'POST', '/conversations', {}))['id']), []);
    const part = randomBytes(100_000);
    const fields = { purpose: 'batch', filename: 'a', bytes: part.length, mime_type: 'text/plain' };
    const upload = String((await sendJson(server, 'POST', '/uploads', fields))['id']);
    const partId = await sendForm(server, `/uploads/${upload}/parts`, { data: new Blob([part]) });

    const load = startLoad(server, known);
    await until('the load has begun', WAIT, async () =>
      known.files.size > 40 && known.deletions.size > 10 && known.batches.length > 3 ? true : undefined,
    );
    const first = await runJson<BackupJson>(['backup', target, '--data', data]);
    assert.deepEqual(first.problems, []);
    const before = copyAcknowledged(known);
    const second = await runJson<BackupJson>(['backup', target, '--data', data]);
    await load.stop();
    assert.deepEqual(second.problems, []);
    assert.ok(second.copied.count < second.blobs, `${second.copied.count} of ${second.blobs} copied again`);
    for (const name of ['download-secret', 'key', 'operator-token']) assert.ok(second.files.includes(name), name);
    // Deletions that the backups postponed.
    await until('the service deletes again', WAIT, async () => {
      const left = readdirSync(join(data, 'blobs'), { recursive: true }).filter((name) => /upload_/.test(String(name)));
      return left.length <= known.files.size - known.deletions.size + known.batches.length + 1 ? true : undefined;
    });

    const restored = join(folder, 'restored');
    await runJson(['restore', target, '--to', restored]);
    assert.equal(readFileSync(join(restored, 'key'), 'utf8'), readFileSync(join(data, 'key'), 'utf8'));
    const again = await startServer(restored);
    await assertHasEverything(again, before, known.deletions);
    const completed = await sendJson(again, 'POST', `/uploads/${upload}/complete`, { part_ids: [partId] });
    const { id } = completed['file'] as { readonly id: string };
    assert.ok((await readFileContent(again, id))?.equals(part));
    assert.ok((await assertNothingDangles(again)) > 0);

    // The older backup is still there, until only one is kept.
    await runJson(['restore', target, '--at', first.id, '--to', join(folder, 'older')]);
    const third = await runJson<BackupJson>(['backup', target, '--keep', '1', '--data', data]);
    assert.deepEqual(third.removed.toSorted(), [first.id, second.id].toSorted());
    assert.equal((await runJson<unknown[]>(['backup', 'list', target, '--data', data])).length, 1);
    await runJson(['backup', 'verify', target, '--data', data]);
  });

  it('continues after it was killed, and does not list what is incomplete', async () => {
    const data = join(folder, 'killed-data');
    const target = join(folder, 'killed-target');
    const server = await startServer(data);
    const contents = Array.from({ length: 8 }, () => randomBytes(4_000_000));
    const ids: string[] = [];
    for (const bytes of contents) ids.push(await uploadFile(server, bytes));
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, 'backup', target, '--data', data],
      { stdio: 'ignore', env: { ...process.env, PARLEY_HUB_URL: 'off' } },
    );
    const listBlobs = (): readonly string[] =>
      existsSync(target)
        ? readdirSync(target, { recursive: true, withFileTypes: true })
            .filter((entry) => entry.isFile() && entry.name.startsWith('upload_') && !entry.name.endsWith('.part'))
            .map(({ name }) => name)
        : [];
    await until('some files are copied', WAIT, async () =>
      listBlobs().length > 0 || child.exitCode !== null ? true : undefined,
    );
    child.kill('SIGKILL');
    if (child.exitCode === null && child.signalCode === null) await once(child, 'exit');
    const copied = listBlobs().length;
    const { stdout } = await runCommand(['backup', 'list', target, '--data', data]);
    if (copied < contents.length) assert.equal(stdout, 'no complete backups\n');
    const result = await runJson<BackupJson>(['backup', target, '--data', data]);
    assert.deepEqual([result.blobs, result.copied.count], [contents.length, contents.length - copied]);
    // The lock of the killed backup ended with it: deletions take place again.
    await sendJson(server, 'DELETE', `/files/${ids[0]}`);
    await until('the blob is deleted', WAIT, async () => {
      const names = readdirSync(join(data, 'blobs'), { recursive: true });
      return names.filter((name) => /upload_/.test(String(name))).length === contents.length - 1 ? true : undefined;
    });
  });

  it('refuses to restore a damaged backup, and names what is damaged', async () => {
    const data = join(folder, 'killed-data');
    const target = join(folder, 'damaged-target');
    await runJson(['backup', target, '--data', data]);
    const [damaged, missing] = readdirSync(target, { recursive: true, withFileTypes: true }).filter(
      (entry) => entry.isFile() && entry.name.startsWith('upload_'),
    );
    assert.ok(damaged && missing);
    const path = join(damaged.parentPath, damaged.name);
    const bytes = readFileSync(path);
    bytes[1_000_000] = (bytes[1_000_000] ?? 0) ^ 1;
    writeFileSync(path, bytes);
    await rm(join(missing.parentPath, missing.name));
    const to = join(folder, 'from-damaged');
    const { code, stderr } = await runCommand(['restore', target, '--to', to]);
    assert.equal(code, 1);
    assert.match(stderr, new RegExp(`${damaged.name}: its SHA-256 differs`));
    assert.match(stderr, new RegExp(`${missing.name}: is missing`));
    assert.deepEqual(readdirSync(to), []);
    const verified = await runCommand(['backup', 'verify', target, '--data', data]);
    assert.equal(verified.code, 1);
    assert.match(verified.stderr, /Marked as damaged: 2 contents, which the next backup to this target copies again/);
    writeFileSync(join(to, 'mine'), '');
    const refused = await runCommand(['restore', target, '--to', to]);
    assert.deepEqual([refused.code, /is not empty/.test(refused.stderr)], [2, true]);
    const rest = join(folder, 'rest');
    const partial = await runCommand(['restore', target, '--to', rest, '--allow-damaged']);
    assert.deepEqual([partial.code, existsSync(join(rest, 'parley.db'))], [1, true]);
    assert.match(
      partial.stderr,
      new RegExp(`restored without 2 damaged objects[^]*${damaged.name}: its SHA-256 differs`),
    );
    // `verify` has marked the damage, so that the next backup repairs it.
    const next = await runJson<BackupJson>(['backup', target, '--data', data]);
    assert.equal(next.copied.count, 2);
    await runJson(['backup', 'verify', target, '--data', data]);
    const manifest = readdirSync(target, { recursive: true, withFileTypes: true }).find(
      (entry) => entry.name === `manifest_${next.id}`,
    );
    assert.ok(manifest);
    writeFileSync(join(manifest.parentPath, manifest.name), '{}');
    const list = await runCommand(['backup', 'list', target, '--data', data]);
    assert.deepEqual([list.code, list.stdout.trim().split('\n').length], [0, 2], list.stderr);
    assert.match(list.stderr, new RegExp(`the manifest of backup ${next.id} is damaged`));
    const kept = await runCommand(['backup', target, '--keep', '1', '--data', data]);
    assert.equal(kept.code, 0, kept.stderr);
    assert.match(kept.stderr, /contents of old backups are kept/);
  });

  it(
    'encrypts with a passphrase, in a bucket, and restores to a bucket',
    { skip: getS3ServerSkipReason() },
    async () => {
      const s3 = await startS3Server();
      stops.push(() => s3.close());
      const env = {
        AWS_ACCESS_KEY_ID: s3.credentials.accessKeyId,
        AWS_SECRET_ACCESS_KEY: s3.credentials.secretAccessKey,
      };
      const toUrl = (prefix: string): string =>
        `s3://${s3.bucket}/${prefix}?endpoint=${encodeURIComponent(s3.endpoint)}`;
      const data = join(folder, 'killed-data');
      const target = toUrl('backups');
      const [secret, other] = [join(folder, 'passphrase'), join(folder, 'other')];
      writeFileSync(secret, 'correct horse battery staple\n');
      writeFileSync(other, 'wrong horse battery staple\n');
      const result = await runJson<BackupJson>(['backup', target, '--encrypt-with', secret, '--data', data], env);
      assert.equal(result.copied.count, 7);
      const again = await runJson<BackupJson>(['backup', target, '--encrypt-with', secret, '--data', data], env);
      assert.deepEqual([again.copied.count, again.blobs], [0, 7]);
      const to = join(folder, 'from-bucket');
      for (const [args, message] of [
        [[], /are encrypted/],
        [['--decrypt-with', other], /is not that of these backups/],
      ] as const) {
        const refused = await runCommand(['restore', target, '--to', to, ...args], env);
        assert.deepEqual([refused.code, message.test(refused.stderr)], [2, true], refused.stderr);
      }
      const blobs = toUrl('restored');
      await runJson(['restore', target, '--to', to, '--blobs', blobs, '--decrypt-with', secret], env);
      const testServer = createRestartableServer({ data: to, env: { ...ENGINE_ENV, ...env, PARLEY_BLOBS_URL: blobs } });
      stops.push(() => testServer.stop('SIGKILL'));
      assert.equal(await assertNothingDangles(await testServer.start()), 7);
      // From the bucket of the service to a folder.
      const folderTarget = join(folder, 'from-bucket-to-folder');
      const copied = await runJson<BackupJson>(['backup', folderTarget, '--data', to], {
        ...env,
        PARLEY_BLOBS_URL: blobs,
      });
      assert.equal(copied.copied.count, 7);
    },
  );
});
