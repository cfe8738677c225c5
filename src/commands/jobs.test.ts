import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, it } from 'node:test';
import { systemIds } from '../core/id.ts';
import type { JobWish } from '../core/job.ts';
import { createJobQueue } from '../jobs/queue.ts';
import { newJob } from '../resources/jobs/new-job.ts';
import { sqliteDialect } from '../store/dialects/sqlite.ts';
import { openStore, type Store } from '../store/store.ts';
import { jobsCommand } from './jobs.ts';

const NOW = Date.parse('2026-07-01T12:00:00Z');
const clock = { now: () => NOW, monotonic: () => 0 };
const OWNER = { region: 'cn-beijing', workspace: 'team-7', keyId: 'key_1' } as const;
const LEASE = { leaseOwner: 'host:12:ab', leaseUntil: NOW + 20_000 };

describe('parley jobs', () => {
  let folder = '';
  /** The running server's connection; each command opens and closes one of its own. */
  let server: Store;
  let opened = 0;
  let output = '';
  let made = 0;
  const ids = { ...systemIds, sortable: (prefix: string) => `${prefix}${(made += 1)}` };

  beforeEach(async () => {
    opened = 0;
    made = 0;
    folder = await mkdtemp(join(tmpdir(), 'parley-jobs-'));
    server = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
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
  /** @param looks What happens between two looks of a watch; after the last one comes Ctrl-C. */
  async function run(
    line: string,
    { looks = [], terminal }: { looks?: readonly (() => Promise<unknown>)[]; terminal?: Terminal } = {},
  ): Promise<string> {
    output = '';
    const left = [...looks];
    const stop = new AbortController();
    const command = jobsCommand({
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
      untilStopped: (_message, work) => work(stop.signal),
      open: async () => {
        const store = await openStore({ dialect: sqliteDialect({ file: join(folder, 'parley.db') }) });
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

  const put = async (subject: string, change: Partial<JobWish> = {}): Promise<string> => {
    const wish = { kind: 'batch', subject, owner: OWNER, payload: { prompt: 'secret' }, ...change } as const;
    const job = newJob(wish, { ids, clock });
    await server.jobs.insert(job);
    return job.id;
  };
  const begin = () => server.jobs.claim({ ...LEASE, now: NOW, kinds: ['batch'] });
  const tell = (id: string, done: number) =>
    server.jobs.renew(id, { ...LEASE, progress: { done, total: 8, step: 'in_progress' } });
  const finish = (id: string) => server.jobs.end(id, { leaseOwner: LEASE.leaseOwner, state: 'done', at: NOW });
  const seen = (text: string): string[] => text.split('\n').map((line) => line.split(/ {2,}/).slice(0, 5).join('|'));

  it('lists the newest first, as a table or as one JSON list, and tells nothing of what they work with', async () => {
    const [first, second] = [await put('batch_1'), await put('file-fe-2', { kind: 'extract' })];
    await begin();
    await tell(first, 2);
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

  it('lists those of a kind or in a state, and no more than asked for', async () => {
    await put('batch_1');
    await put('file-fe-2', { kind: 'extract' });
    await put('batch_3');
    await begin();
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
    it(`refuses ${what} that there is not, before the database is opened: ${line}`, async () => {
      await assert.rejects(run(line), { code: 'commander.invalidArgument' });
    });
  }

  it('shows one job with why it failed, and says that one is not there', async () => {
    const id = await put('batch_1');
    await begin();
    await server.jobs.release(id, { leaseOwner: LEASE.leaseOwner, dueAt: NOW + 60_000, error: 'no luck' });
    const facts = new Map((await run(`show ${id}`)).split('\n').map((line) => line.split(/ {2,}/) as [string, string]));
    assert.equal(facts.get('of'), 'team-7 in cn-beijing, key key_1');
    assert.equal(facts.get('attempt'), '1, 4 of 5 tries left');
    assert.equal(facts.get('last error'), 'no luck');
    assert.equal(facts.get('next turn'), '2026-07-01T12:01:00.000Z');
    assert.equal(facts.has('ended'), false);
    assert.equal(JSON.parse(await run(`show ${id} --json`)).dueAt, '2026-07-01T12:01:00.000Z');
    await assert.rejects(run('show job_none'), { kind: 'not-found', message: /There is no job "job_none"/ });
  });

  it('cancels a job that goes on, and changes nothing of one that has ended', async () => {
    const [id, over] = [await put('batch_1'), await put('batch_2')];
    assert.equal(await run(`cancel ${id}`), `${id} is being cancelled\n`);
    assert.equal((await server.jobs.find(id))?.isCancelled, true);
    assert.match(await run('list --limit 2'), /waiting, to be cancelled/);
    await begin();
    await begin();
    await finish(over);
    assert.equal(await run(`cancel ${over}`), `${over} has ended: done\n`);
    assert.equal(JSON.parse(await run(`cancel ${over} --json`)).isCancelled, false);
    await assert.rejects(run('cancel job_none'), { kind: 'not-found' });
  });

  it('takes what a job works for in place of its id, and of a batch its work', async () => {
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

  it('watches without a terminal: a line for each job that is new or has changed, until Ctrl-C', async () => {
    const id = await put('batch_1');
    const text = await run('list --watch', {
      looks: [
        () => Promise.resolve(),
        async () => {
          await begin();
          await put('batch_2');
        },
        () => tell(id, 4),
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

  it('watches on a terminal: draws over what was there, and nothing that is wider or higher than that', async () => {
    for (let count = 0; count < 9; count += 1) await put(`batch_${count}`);
    const text = await run('list --watch', { looks: [begin], terminal: { columns: 30, rows: 5 } });
    const [first = '', second = '', ...none] = text.split('\u001b[J').slice(1);
    assert.equal(none.length, 0);
    assert.ok(text.startsWith('\u001b[J') && first.endsWith('\u001b[4A'), JSON.stringify(text));
    for (const drawn of [first.slice(0, -'\u001b[4A'.length), second]) {
      const lines = drawn.split('\n').slice(0, -1);
      assert.equal(lines.length, 4);
      assert.ok(lines.every((line) => line.length < 30));
    }
  });

  it('watches one job until it ends', async () => {
    const id = await put('batch_1');
    const looks = [begin, () => tell(id, 8), () => finish(id), () => assert.fail('it has ended')];
    const lines = (await run(`show ${id} --watch --json`, { looks })).split('\n').slice(0, -1);
    assert.deepEqual(
      lines.map((line) => JSON.parse(line).state),
      ['waiting', 'running', 'running', 'done'],
    );
  });
});
