import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemIds } from '../../src/core/id.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { newJob } from '../../src/resources/jobs/new-job.ts';
import { sqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { startParley } from '../clients/harness.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

describe('the command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-cli-'));
  after(() => rmSync(folder, { recursive: true }));

  /** An empty data folder for each, so that no configuration of this machine is seen. */
  let runs = 0;
  const environment = (more: Readonly<Record<string, string>>) => {
    const data = join(folder, String(++runs));
    mkdirSync(data);
    return { PATH: process.env['PATH'], HOME: folder, PARLEY_DATA: data, PARLEY_HUB_URL: 'off', ...more };
  };
  const node = ['--disable-warning=ExperimentalWarning', CLI];
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync(process.execPath, [...node, ...args], { encoding: 'utf8', env: environment(env) });

  for (const args of [
    'nonsense',
    'keys',
    'keys create --json extra',
    'keys list --nonsense',
    'models show',
    'models rm a b',
    'models add x --path a --url b',
    'config extra',
  ]) {
    test(`wrong arguments end with 2 and a pointer to the help: ${args}`, () => {
      const { status, stderr, stdout } = run(args.split(' '));
      assert.equal(status, 2, stderr);
      assert.match(stderr, /--help|Usage:/);
      assert.equal(stdout, '');
    });
  }

  test('--version is the one of the package', () => {
    const { status, stdout } = run(['--version']);
    const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
    assert.deepEqual({ status, stdout }, { status: 0, stdout: `${version}\n` });
  });

  test('a reader who leaves early is no failure', async () => {
    const child = spawn(process.execPath, [...node, 'models', 'list'], { env: environment({}) });
    // Nobody reads: whatever is written comes too late.
    child.stdout.destroy();
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const [code] = await once(child, 'close');
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });

  test('a watch of jobs tells what changes, and Ctrl-C and a reader who leaves are its ends', async () => {
    const env = environment({});
    const store = await openStore({ dialect: sqliteDialect({ file: join(env.PARLEY_DATA, 'parley.db') }) });
    const owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
    const put = async (subject: string) => {
      const wish = { kind: 'batch', subject, owner, payload: {} } as const;
      assert.ok(await store.jobs.insert(newJob(wish, { ids: systemIds, clock: systemClock })));
    };
    await put('batch_1');
    for (const end of ['interrupt', 'leave']) {
      const child = spawn(process.execPath, [...node, 'jobs', 'list', '--watch'], { env });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      const says = (subject: string) =>
        until(subject, { withinMs: 30_000 }, async () => (output.includes(subject) ? true : undefined));
      await says('batch_1');
      await put(`batch_of_${end}`);
      await says(`batch_of_${end}`);
      const exit = once(child, 'exit');
      if (end === 'interrupt') child.kill('SIGINT');
      else {
        child.stdout.destroy();
        // What it writes next finds that out.
        await put('batch_that_nobody_reads_of');
      }
      const [code] = await exit;
      assert.equal(code, 0, end);
    }
    await store.close();
  });

  test('a place that cannot be written to is told in one line with its path', () => {
    const file = join(folder, 'file');
    writeFileSync(file, '');
    const inFile = join(file, 'models');
    for (const [args, env] of [
      [['models', 'pull', 'svc-tiny'], { PARLEY_MODELS_FOLDER: inFile }],
      [['models', 'prune'], { PARLEY_MODELS_FOLDER: inFile }],
    ] as const) {
      const { status, stderr } = run(args, env);
      assert.equal(status, 1, stderr);
      const complaints = stderr.split('\n').filter((line) => line.startsWith('parley: ') || line.includes(' at '));
      assert.equal(complaints.length, 1, stderr);
      assert.match(complaints[0] ?? '', /^parley: ENOTDIR.*file\/models/);
    }
  });

  test('config refuses additions that the service would refuse', () => {
    const path = join(folder, 'bad.yaml');
    writeFileSync(path, 'models: { mine: { hub: nowhere } }\n');
    const { status, stderr } = run(['config', '--config', path]);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /models\.mine\.hub/);
  });

  test('a key for a region that is not configured is made, with a warning beside the JSON', () => {
    const { status, stdout, stderr } = run(['keys', 'create', '--region', 'us-east-1', '--json']);
    assert.equal(status, 0, stderr);
    assert.equal((JSON.parse(stdout) as { region: string }).region, 'us-east-1');
    assert.match(stderr, /^parley: .*us-east-1.*not configured/);
  });
});

test('a server says once what is wrong with the file, and leaves the note of another one alone', async () => {
  const first = await startParley({ engine: 'scripted' });
  const note = readFileSync(join(first.data, 'server.json'), 'utf8');
  const second = spawn(process.execPath, [CLI, 'serve', '--port', '0', '--no-first-answer', '--data', first.data], {
    stdio: ['ignore', 'pipe', 'ignore'],
    env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' },
  });
  try {
    let output = '';
    second.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
    await until('the second server', { withinMs: 60_000 }, async () => (output.includes('Try:') ? true : undefined));
    assert.equal(readFileSync(join(first.data, 'server.json'), 'utf8'), note);
    const end = once(second, 'exit');
    second.kill('SIGTERM');
    await end;
    assert.equal(readFileSync(join(first.data, 'server.json'), 'utf8'), note);

    const complaints = () => first.output().split('The models stay as they are').length - 1;
    writeFileSync(join(first.data, 'parley.yaml'), 'models: [');
    process.kill(first.pid, 'SIGHUP');
    await until('the complaint', { withinMs: 30_000 }, async () => (complaints() > 0 ? true : undefined));
    writeFileSync(join(first.data, 'parley.yaml'), 'models: [[');
    await until('the next complaint', { withinMs: 30_000 }, async () => (complaints() > 1 ? true : undefined));
    assert.equal(complaints(), 2);
  } finally {
    second.kill('SIGKILL');
    await first.stop();
  }
});
