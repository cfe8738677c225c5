import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemIdGenerator } from '../core/id.ts';
import type { JobRequest } from '../core/job.ts';
import { createJobQueue } from '../jobs/queue.ts';
import { createJob } from '../resources/jobs/create-job.ts';
import { createSqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore, type Store } from '../store/store.ts';
import { createJobsCommand } from './jobs-command.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const clock = { now: () => NOW, monotonic: () => 0 };
const OWNER = { region: 'cn-beijing', workspace: 'team-7', keyId: 'key_1' } as const;
const LEASE = { leaseOwner: 'host:12:ab', leaseUntil: NOW + 20_000 };

describe('parley jobs', () => {
  let folder = '';
  /** Connection of the running server. Each command opens and closes a connection of its own. */
  let server: Store;
  let opened = 0;
  let output = '';
  let made = 0;
  const ids = { ...systemIdGenerator, createSortableId: (prefix: string) => `${prefix}${(made += 1)}` };

  beforeEach(async () => {
    opened = 0;
    made = 0;
    folder = await mkdtemp(join(tmpdir(), 'parley-jobs-'));
    server = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
  });
  afterEach(async () => {
    assert.equal(opened, 0, 'a command has left the database open');
    await server.close();
    await rm(folder, { recursive: true });
  });

  interface Terminal {
    readonly columns: number;
    readonly rows: number;
  }
  /** @param betweenPolls Functions to run between the polls of `--watch`; Ctrl-C follows the last one. */
  async function run(
    line: string,
    { betweenPolls = [], terminal }: { betweenPolls?: readonly (() => Promise<unknown>)[]; terminal?: Terminal } = {},
  ): Promise<string> {
    output = '';
    const left = [...betweenPolls];
    const stop = new AbortController();
    const command = createJobsCommand({
      stdout: {
        write(text, done) {
          output += text;
          if (done) setImmediate(done);
        },
        ...(terminal && { isTTY: true, ...terminal }),
      },
      async pause(_ms, signal) {
        const next = left.shift();
        if (next) return await next();
        stop.abort();
        signal.throwIfAborted();
      },
      runUntilStopped: (_message, work) => work(stop.signal),
      open: async () => {
        const store = await openStore({ dialect: createSqliteDialect({ file: join(folder, 'parley.db') }) });
        opened += 1;
        const close = async () => {
          opened -= 1;
          await store.close();
        };
        return { jobs: createJobQueue({ jobs: store.jobs, clock }), close };
      },
    });
    command.exitOverride().configureOutput({ writeErr: () => undefined });
    for (const sub of command.commands) sub.copyInheritedSettings(command);
    await command.parseAsync(line.split(' '), { from: 'user' });
    return output;
  }

  const put = async (subject: string, change: Partial<JobRequest> = {}): Promise<string> => {
    const request = { kind: 'batch', subject, owner: OWNER, payload: { prompt: 'secret' }, ...change } as const;
    const job = createJob(request, { ids, clock });
    await server.jobs.insert(job);
    return job.id;
  };
  const claim = () => server.jobs.claim({ ...LEASE, now: NOW, kinds: ['batch'] });
  const reportProgress = (id: string, done: number) =>
    server.jobs.renew(id, { ...LEASE, progress: { done, total: 8, step: 'in_progress' } });
  const finish = (id: string) => server.jobs.finish(id, { leaseOwner: LEASE.leaseOwner, state: 'done', at: NOW });
  const seen = (text: string): string[] => text.split('\n').map((line) => line.split(/ {2,}/).slice(0, 5).join('|'));

  it('lists jobs newest first, as a table or JSON array, without their payloads', async () => {
    const [first, second] = [await put('batch_1'), await put('file-fe-2', { kind: 'extract' })];
    await claim();
    await reportProgress(first, 2);
    assert.deepEqual(seen(await run('list')), [
      'ID|KIND|SUBJECT|STATE|PROGRESS',
      `${second}|extract|file-fe-2|waiting|0`,
      `${first}|batch|batch_1|running|2 of 8 (25 %), in_progress`,
      '',
    ]);
    const text = await run('list --json');
    assert.equal(text.indexOf('\n'), text.length - 1);
    const [, record] = JSON.parse(text);
    assert.deepEqual(record, {
      id: first,
      kind: 'batch',
      subject: 'batch_1',
      region: 'cn-beijing',
      workspace: 'team-7',
      keyId: 'key_1',
      state: 'running',
      isCancelled: false,
      priority: 5,
      attempt: 1,
      tries: 5,
      triesLeft: 5,
      progress: { done: 2, total: 8, step: 'in_progress' },
      error: null,
      process: 'host:12:ab',
      createdAt: '2026-07-01T12:00:00.000Z',
      startedAt: '2026-07-01T12:00:00.000Z',
      dueAt: null,
      endedAt: null,
    });
    for (const each of [text, output, await run(`show ${first}`)]) assert.doesNotMatch(each, /secret/);
  });

  it('filters by kind and state and limits the number', async () => {
    await put('batch_1');
    await put('file-fe-2', { kind: 'extract' });
    await put('batch_3');
    await claim();
    const subjects = async (line: string) =>
      (JSON.parse(await run(line)) as { subject: string }[]).map(({ subject }) => subject);
    assert.deepEqual(await subjects('list --json --kind extract'), ['file-fe-2']);
    assert.deepEqual(await subjects('list --json --state waiting'), ['batch_3', 'file-fe-2']);
    assert.deepEqual(await subjects('list --json --state waiting --kind batch'), ['batch_3']);
    assert.deepEqual(await subjects('list --json --limit 1'), ['batch_3']);
    assert.deepEqual(await subjects('list --json --state failed'), []);
  });

  for (const [what, line] of [
    ['a kind', 'list --kind nix'],
    ['a state', 'list --state nix'],
    ...['0', '501', '1.5', 'x', '1e2'].map((limit) => ['a limit', `list --limit ${limit}`] as const),
  ] as const) {
    it(`rejects an invalid ${what} before opening the database: ${line}`, async () => {
      await assert.rejects(run(line), { code: 'commander.invalidArgument' });
    });
  }

  it('shows a job with its error, and fails for an unknown id', async () => {
    const id = await put('batch_1');
    await claim();
    await server.jobs.release(id, { leaseOwner: LEASE.leaseOwner, dueAt: NOW + 60_000, error: 'no luck' });
    const values = new Map(
      (await run(`show ${id}`)).split('\n').map((line) => line.split(/ {2,}/) as [string, string]),
    );
    assert.equal(values.get('owner'), 'team-7 in cn-beijing, key key_1');
    assert.equal(values.get('attempt'), '1, 4 of 5 attempts left');
    assert.equal(values.get('last error'), 'no luck');
    assert.equal(values.get('next attempt'), '2026-07-01T12:01:00.000Z');
    assert.equal(values.has('ended'), false);
    assert.equal(JSON.parse(await run(`show ${id} --json`)).dueAt, '2026-07-01T12:01:00.000Z');
    await assert.rejects(run('show job_none'), { kind: 'not-found', message: /No job has the ID "job_none"/ });
  });

  it('cancels a running job and does not change an ended one', async () => {
    const [id, over] = [await put('batch_1'), await put('batch_2')];
    assert.equal(await run(`cancel ${id}`), `${id} is being cancelled\n`);
    assert.equal((await server.jobs.find(id))?.isCancelled, true);
    assert.match(await run('list --limit 2'), /waiting, being cancelled/);
    await claim();
    await claim();
    await finish(over);
    assert.equal(await run(`cancel ${over}`), `${over} has already ended: done\n`);
    assert.equal(JSON.parse(await run(`cancel ${over} --json`)).isCancelled, false);
    await assert.rejects(run('cancel job_none'), { kind: 'not-found' });
  });

  it('accepts the id of the batch, file or response instead of the job id', async () => {
    await put('batch_1', { kind: 'batch-callback' });
    const [work, reading] = [await put('batch_1'), await put('file-fe-2', { kind: 'extract' })];
    assert.equal(JSON.parse(await run('show batch_1 --json')).id, work);
    assert.equal(JSON.parse(await run('show file-fe-2 --json')).id, reading);
    assert.equal(await run('cancel batch_1'), `${work} is being cancelled\n`);
    assert.deepEqual(
      (await server.jobs.list({ limit: 9 })).map(({ kind, isCancelled }) => [kind, isCancelled]),
      [
        ['extract', false],
        ['batch', true],
        ['batch-callback', false],
      ],
    );
    await assert.rejects(run('cancel batch_2'), { kind: 'not-found' });
  });

  it('prints a line per new or changed job until Ctrl-C when watching without a terminal', async () => {
    const id = await put('batch_1');
    const text = await run('list --watch', {
      betweenPolls: [
        () => Promise.resolve(),
        async () => {
          await claim();
          await put('batch_2');
        },
        () => reportProgress(id, 4),
      ],
    });
    assert.deepEqual(
      text.split('\n').map((line) => line.split('  ').slice(0, 5).join('|')),
      [
        `${id}|batch|batch_1|waiting|`,
        'job_2|batch|batch_2|waiting|',
        `${id}|batch|batch_1|running|`,
        `${id}|batch|batch_1|running|4 of 8 (50 %), in_progress`,
        '',
      ],
    );
  });

  it('redraws the table within the terminal size when watching on a terminal', async () => {
    for (let count = 0; count < 9; count += 1) await put(`batch_${count}`);
    const text = await run('list --watch', { betweenPolls: [claim], terminal: { columns: 30, rows: 5 } });
    const [first = '', second = '', ...none] = text.split('\u001b[J').slice(1);
    assert.equal(none.length, 0);
    assert.ok(text.startsWith('\u001b[J') && first.endsWith('\u001b[4A'), JSON.stringify(text));
    for (const drawn of [first.slice(0, -'\u001b[4A'.length), second]) {
      const lines = drawn.split('\n').slice(0, -1);
      assert.equal(lines.length, 4);
      assert.ok(lines.every((line) => line.length < 30));
    }
  });

  it('stops watching a job when it ends', async () => {
    const id = await put('batch_1');
    const betweenPolls = [claim, () => reportProgress(id, 8), () => finish(id), () => assert.fail('it has ended')];
    const lines = (await run(`show ${id} --watch --json`, { betweenPolls })).split('\n').slice(0, -1);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).state),
      ['waiting', 'running', 'running', 'done'],
    );
  });
});
