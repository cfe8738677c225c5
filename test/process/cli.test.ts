import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { systemIdGenerator } from '../../src/core/id.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createJob } from '../../src/resources/jobs/create-job.ts';
import { createSqliteDialect } from '../../src/store/dialects/sqlite.ts';
import { openStore } from '../../src/store/store.ts';
import { startParley } from '../clients/harness.ts';
import { until } from '../until.ts';

const CLI = fileURLToPath(new URL('../../src/cli.ts', import.meta.url));
const PACKAGE = fileURLToPath(new URL('../../package.json', import.meta.url));

describe('command line', () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-cli-'));
  after(() => rmSync(folder, { recursive: true }));

  /** Creates an environment with an empty data folder, so that no configuration of this machine has an effect. */
  let runs = 0;
  const createEnvironment = (more: Readonly<Record<string, string>>) => {
    const data = join(folder, String(++runs));
    mkdirSync(data);
    const { PATH, NODE_COMPILE_CACHE } = process.env;
    return { PATH, NODE_COMPILE_CACHE, HOME: folder, PARLEY_DATA: data, PARLEY_HUB_URL: 'off', ...more };
  };
  const nodeArgs = ['--disable-warning=ExperimentalWarning', CLI];
  const run = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
    spawnSync(process.execPath, [...nodeArgs, ...args], { encoding: 'utf8', env: createEnvironment(env) });

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
    test(`exits with 2 and refers to the help for wrong arguments: ${args}`, () => {
      const { status, stderr, stdout } = run(args.split(' '));
      assert.equal(status, 2, stderr);
      assert.match(stderr, /--help|Usage:/);
      assert.equal(stdout, '');
    });
  }

  test('prints the version of the package for --version', () => {
    const { status, stdout } = run(['--version']);
    const { version } = JSON.parse(readFileSync(PACKAGE, 'utf8')) as { version: string };
    assert.deepEqual({ status, stdout }, { status: 0, stdout: `${version}\n` });
  });

  test('exits with 0 when the reader of its output leaves', async () => {
    const child = spawn(process.execPath, [...nodeArgs, 'models', 'list'], { env: createEnvironment({}) });
    // The output is closed, so every write fails.
    child.stdout.destroy();
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => (stderr += text));
    const [code] = await once(child, 'close');
    assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
  });

  test('prints changes of watched jobs, and exits with 0 on Ctrl-C or when the reader leaves', async () => {
    const env = createEnvironment({});
    const store = await openStore({ dialect: createSqliteDialect({ file: join(env.PARLEY_DATA, 'parley.db') }) });
    const owner = { region: 'cn-beijing', workspace: 'primary', keyId: 'key_1' } as const;
    const insertJob = async (subject: string) => {
      const request = { kind: 'batch', subject, owner, payload: {} } as const;
      assert.ok(await store.jobs.insert(createJob(request, { ids: systemIdGenerator, clock: systemClock })));
    };
    await insertJob('batch_1');
    for (const termination of ['interrupt', 'close']) {
      const child = spawn(process.execPath, [...nodeArgs, 'jobs', 'list', '--watch'], { env });
      let output = '';
      child.stdout.setEncoding('utf8').on('data', (text: string) => (output += text));
      const waitForOutput = (subject: string) =>
        until(subject, { timeoutMs: 30_000 }, async () => (output.includes(subject) ? true : undefined));
      await waitForOutput('batch_1');
      await insertJob(`batch_of_${termination}`);
      await waitForOutput(`batch_of_${termination}`);
      const exit = once(child, 'exit');
      if (termination === 'interrupt') child.kill('SIGINT');
      else {
        child.stdout.destroy();
        // The next write of the command fails.
        await insertJob('batch_after_close');
      }
      const [code] = await exit;
      assert.equal(code, 0, termination);
    }
    await store.close();
  });

  test('reports a path that cannot be written in one line', () => {
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

  test('rejects model entries in config that the service would reject', () => {
    const path = join(folder, 'bad.yaml');
    writeFileSync(path, 'models: { mine: { hub: nowhere } }\n');
    const { status, stderr } = run(['config', '--config', path]);
    assert.equal(status, 2, stderr);
    assert.match(stderr, /models\.mine\.hub/);
  });

  test('creates a key for a region that is not configured, with a warning on stderr', () => {
    const { status, stdout, stderr } = run(['keys', 'create', '--region', 'us-east-1', '--json']);
    assert.equal(status, 0, stderr);
    assert.equal((JSON.parse(stdout) as { region: string }).region, 'us-east-1');
    assert.match(stderr, /^parley: .*us-east-1.*not configured/);
  });
});

test('serve reports an invalid configuration file once, and a refused second server keeps its server.json', async () => {
  const first = await startParley({ engine: 'scripted' });
  try {
    const serverFile = readFileSync(join(first.data, 'server.json'), 'utf8');
    const second = spawn(process.execPath, [CLI, 'serve', '--port', '0', '--no-first-answer', '--data', first.data], {
      stdio: 'ignore',
      env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' },
    });
    assert.deepEqual(await once(second, 'exit'), [1, null]);
    assert.equal(readFileSync(join(first.data, 'server.json'), 'utf8'), serverFile);

    const countComplaints = () => first.output().split('The models were not reloaded').length - 1;
    writeFileSync(join(first.data, 'parley.yaml'), 'models: [');
    process.kill(first.pid, 'SIGHUP');
    await until('the first error', { timeoutMs: 30_000 }, async () => (countComplaints() > 0 ? true : undefined));
    writeFileSync(join(first.data, 'parley.yaml'), 'models: [[');
    await until('the second error', { timeoutMs: 30_000 }, async () => (countComplaints() > 1 ? true : undefined));
    assert.equal(countComplaints(), 2);
  } finally {
    await first.stop();
  }
});
