import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, open, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { after, before, describe, it } from 'node:test';
import { fileURLToPath } from 'node:url';
import { runParleyCheck } from './__fixtures__/run-parley-check.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PAGE_BYTES = 4096;
const WAIT = { timeoutMs: 120_000 };

interface RunningService {
  readonly address: string;
  readonly key: string;
  output(): string;
  stop(signal: NodeJS.Signals): Promise<number | null>;
}

describe('a service whose database is damaged', () => {
  let data = '';
  before(async () => {
    data = await mkdtemp(join(tmpdir(), 'parley-damaged-'));
  });
  after(() => rm(data, { recursive: true }));
  const databaseFile = () => join(data, 'parley.db');

  const spawnService = (env: Readonly<Record<string, string>> = {}) => {
    const child = spawn(
      process.execPath,
      ['--disable-warning=ExperimentalWarning', CLI, 'serve', '--no-first-answer'],
      {
        env: {
          ...process.env,
          PARLEY_DATA: data,
          PARLEY_PORT: '0',
          PARLEY_ENGINE_KIND: 'scripted',
          PARLEY_HUB_URL: 'off',
          PARLEY_CODE_INTERPRETER_LEVEL: 'off',
          ...env,
        },
      },
    );
    let output = '';
    for (const stream of [child.stdout, child.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => (output += text));
    return { child, output: () => output };
  };

  const start = async (env?: Readonly<Record<string, string>>): Promise<RunningService> => {
    const { child, output } = spawnService(env);
    const address = await until('the service listens', WAIT, async () => {
      assert.equal(child.exitCode, null, output());
      return /http:\/\/127\.0\.0\.1:\d+/.exec(output())?.[0];
    });
    const key = await until('the service has a key', WAIT, async () =>
      readFile(join(data, 'key'), 'utf8').catch(() => undefined),
    );
    return {
      address,
      key: key.trim(),
      output,
      async stop(signal) {
        const exit = once(child, 'exit');
        child.kill(signal);
        const [code] = (await exit) as [number | null];
        return code;
      },
    };
  };

  const expectRefusal = async (): Promise<string> => {
    const { child, output } = spawnService();
    const [code] = (await once(child, 'close')) as [number | null];
    assert.equal(code, 1, output());
    assert.ok(output().includes(databaseFile()), output());
    assert.match(output(), /Restore a backup; `parley check` lists everything/);
    return output();
  };

  const createConversation = async ({ address, key }: RunningService): Promise<Response> =>
    await fetch(`${address}/v1/conversations`, {
      method: 'POST',
      headers: { authorization: `Bearer ${key}`, 'content-type': 'application/json' },
      body: JSON.stringify({ items: [{ role: 'user', content: 'x'.repeat(3000) }] }),
    });

  it('refuses to start with a damaged log of a killed process, and starts with the intact one without a loss', async () => {
    const first = await start();
    const ids: string[] = [];
    for (let count = 0; count < 30; count += 1) {
      const { id } = (await (await createConversation(first)).json()) as { id: string };
      ids.push(id);
    }
    await first.stop('SIGKILL');
    const wal = await readFile(`${databaseFile()}-wal`);
    const damaged = Buffer.from(wal);
    // A page of a frame that many commits follow.
    damaged[32 + 20 * (PAGE_BYTES + 24) + 24 + 11] = (damaged[32 + 20 * (PAGE_BYTES + 24) + 24 + 11] ?? 0) ^ 1;
    await writeFile(`${databaseFile()}-wal`, damaged);
    const output = await expectRefusal();
    const { code, result } = await runParleyCheck(data);
    assert.equal(code, 1);
    assert.match(result?.problems[0]?.problem ?? '', /^the write-ahead log has wrong bytes/);
    assert.match(output, /write-ahead log has wrong bytes at \d+; SQLite would drop them and \d+ intact commits/);
    assert.ok((await readdir(data)).some((name) => name.startsWith('parley.db-wal.damaged-')));
    assert.ok(damaged.equals(await readFile(`${databaseFile()}-wal`)), 'the refused start changed the log');

    await writeFile(`${databaseFile()}-wal`, wal);
    const second = await start();
    for (const id of ids) {
      const headers = { authorization: `Bearer ${second.key}` };
      assert.equal((await fetch(`${second.address}/v1/conversations/${id}`, { headers })).status, 200, id);
    }
    assert.equal(await second.stop('SIGTERM'), 0);
  });

  it('refuses to start with junk pages; without the check, requests fail with 500, a log line, a metric, and /ready', async () => {
    const database = new DatabaseSync(databaseFile());
    database.exec('pragma wal_checkpoint(truncate)');
    const row = database.prepare("select rootpage from sqlite_schema where name = 'conversations'").get();
    database.close();
    const file = await open(databaseFile(), 'r+');
    await file.write(Buffer.alloc(PAGE_BYTES, 0x5a), 0, PAGE_BYTES, (Number(row?.['rootpage']) - 1) * PAGE_BYTES);
    await file.close();
    const { size } = await stat(databaseFile());
    await expectRefusal();
    assert.equal((await stat(databaseFile())).size, size);
    const { code, result } = await runParleyCheck(data);
    assert.equal(code, 1);
    assert.ok(result?.problems.some(({ area, subject }) => area === 'database' && subject === databaseFile()));

    const service = await start({ PARLEY_STORE_START_CHECK: 'false' });
    const response = await createConversation(service);
    assert.equal(response.status, 500);
    const text = await response.text();
    assert.match(text, /The database of the service is damaged or cannot be read/);
    assert.ok(!text.includes('malformed') && !text.includes(data), 'the caller learns nothing about the file');
    await until('the damage is logged', WAIT, async () =>
      /run `parley check`/.test(service.output()) && service.output().includes(databaseFile()) ? true : undefined,
    );
    const ready = await fetch(`${service.address}/ready`);
    assert.equal(ready.status, 503);
    assert.match(((await ready.json()) as { reason: string }).reason, /parley\.db is damaged: .*; run `parley check`/);
    const metrics = await (await fetch(`${service.address}/metrics`)).text();
    assert.match(metrics, /parley_damaged_data_total\{data="database"\} [1-9]/);
    assert.equal((await fetch(`${service.address}/health`)).status, 200);
    await service.stop('SIGTERM');
  });

  it('is unready in all workers after a query of one of them found the damage', async () => {
    const service = await start({ PARLEY_STORE_START_CHECK: 'false', PARLEY_WORKERS: '2' });
    // New connections: the chance that one of two workers gets none of them is 1 in 2^23.
    const callReady = async (): Promise<readonly number[]> =>
      await Promise.all(
        Array.from({ length: 24 }, async () => {
          const response = await fetch(`${service.address}/ready`, { headers: { connection: 'close' } });
          await response.text();
          return response.status;
        }),
      );
    assert.deepEqual(new Set(await callReady()), new Set([200]));
    assert.equal((await createConversation(service)).status, 500);
    await until('both workers are unready', WAIT, async () =>
      (await callReady()).every((status) => status === 503) ? true : undefined,
    );
    await service.stop('SIGTERM');
  });

  it('cannot check a folder without a database: exit code 2', async () => {
    const { code, result, stderr } = await runParleyCheck(join(data, 'none'));
    assert.deepEqual([code, result], [2, undefined]);
    assert.match(stderr, /The check could not run: there is no database/);
  });
});
