import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { createCommandServer } from '../../src/engines/command/command-server.ts';
import type { Supervisor } from '../../src/engines/supervisor.ts';
import type { CommandServerOptions, CommandTimings, RunningProgram } from '../../src/engines/command/command-server.ts';
import type { CommandLine, LaunchParameters } from '../../src/engines/command/command-line.ts';
import { until } from '../until.ts';
import type { FakeProgramPlan, FakeProgramInfo } from './__fixtures__/fake-server-program.ts';

const TIMEOUT = { timeoutMs: 30_000 };
const PROGRAM = fileURLToPath(new URL('./__fixtures__/fake-server-program.ts', import.meta.url));

const TIMINGS: Partial<CommandTimings> = { backoffMsMin: 10, backoffMsMax: 40, graceMs: 300, waitMsMax: 60_000 };

const root = realpathSync(mkdtempSync(join(tmpdir(), 'parley-command-')));
const servers: Supervisor<RunningProgram>[] = [];
after(async () => {
  await Promise.all(servers.map((server) => server.stop()));
  rmSync(root, { recursive: true });
});

const createTestLine =
  (plan: FakeProgramPlan) =>
  ({ port, apiKey, folder }: LaunchParameters): CommandLine => ({
    command: process.execPath,
    args: ['--disable-warning=ExperimentalWarning', PROGRAM, '--port', `${port}`, '--key-file', join(folder, 'key')],
    environment: { PLAN: JSON.stringify(plan), PROGRAM_KEY: apiKey },
    files: { key: apiKey },
  });

const createTestServer = (plan: FakeProgramPlan = {}, { times, ...more }: Partial<CommandServerOptions> = {}) => {
  const logLines: Readonly<Record<string, unknown>>[] = [];
  const runFolder = mkdtempSync(join(root, 'run-'));
  const server = createCommandServer(
    {
      name: 'fake',
      createLine: createTestLine(plan),
      environment: { ...process.env, PARLEY_SECRET: 'parley-secret', UPSTREAM_KEY: 'upstream-key' },
      runFolder,
      times: { ...TIMINGS, ...times },
      ...more,
    },
    {
      log: {
        info: (message, fields) => void logLines.push({ message, ...fields }),
        warn: (message, fields) => void logLines.push({ message, ...fields }),
      },
    },
  );
  servers.push(server);
  return { server, logLines, runFolder };
};

const callProgram = (program: RunningProgram, path: string): Promise<Response> =>
  fetch(`${program.url}${path}`, { headers: { authorization: `Bearer ${program.apiKey}` } });

const getProgramInfo = async (program: RunningProgram): Promise<FakeProgramInfo> =>
  (await (await callProgram(program, '/info')).json()) as FakeProgramInfo;

/** Counts zombies as exited, because a container without an init process keeps zombies. */
function isRunning(pid: number): boolean {
  try {
    process.kill(pid, 0);
    if (process.platform !== 'linux') return true;
    return !/^.*\) Z/s.test(readFileSync(`/proc/${pid}/stat`, 'utf8'));
  } catch {
    return false;
  }
}

/** Waits for a confirmed exit. confirmExit returns false while the guard or this process stalls. */
const waitForConfirmedExit = (server: Supervisor<RunningProgram>, program: RunningProgram): Promise<true> =>
  until('the exit is confirmed', TIMEOUT, async () => ((await server.confirmExit(program)) ? true : undefined));

const waitForExit = (pids: readonly number[]): Promise<true> =>
  until(`${pids.join(', ')} have exited`, TIMEOUT, async () => (pids.some(isRunning) ? undefined : true));

describe('command server', () => {
  test('starts its program once for concurrent callers, on a free port with a new key, and stops it', async () => {
    const { server, logLines, runFolder } = createTestServer();
    assert.equal(server.state, 'stopped');
    assert.equal(server.pid, undefined);
    const [program, same] = await Promise.all([server.waitUntilReady(), server.waitUntilReady()]);
    assert.equal(program, same);
    assert.match(program.url, /^http:\/\/127\.0\.0\.1:\d+$/);
    assert.match(program.apiKey, /^[0-9a-f]{64}$/);
    const info = await getProgramInfo(program);
    assert.equal(info.pid, server.pid);
    const readyLine = logLines.find(({ message }) => message === 'engine process ready');
    assert.deepEqual([readyLine?.program, readyLine?.url], [info.pid, program.url]);
    await server.stop();
    assert.ok(!isRunning(info.pid));
    assert.deepEqual([server.state, server.pid, readdirSync(runFolder)], ['stopped', undefined, []]);
    await assert.rejects(server.waitUntilReady(), { kind: 'overloaded' });
  });

  test('passes no variables of Parley to its program, and shows the key to no other user', async () => {
    const { server, runFolder } = createTestServer();
    const program = await server.waitUntilReady();
    const { environment, args } = await getProgramInfo(program);
    assert.equal(environment.PATH, process.env.PATH);
    assert.equal(environment.PROGRAM_KEY, program.apiKey);
    assert.ok(!Object.keys(environment).some((name) => name.startsWith('PARLEY_') || name === 'UPSTREAM_KEY'));
    assert.ok(!args.join(' ').includes(program.apiKey));
    const keyFile = args.at(-1) ?? '';
    assert.equal(readFileSync(keyFile, 'utf8'), program.apiKey);
    assert.deepEqual([statSync(keyFile).mode & 0o777, statSync(join(keyFile, '..')).mode & 0o777], [0o600, 0o700]);
    assert.deepEqual(readdirSync(runFolder).length, 1);
    await server.stop();
  });

  test('waits for a program that loads, and logs its last output line as progress', async () => {
    const loadedFile = join(root, 'loaded');
    const { server, logLines } = createTestServer({ loadsUntil: loadedFile }, { times: { progressMs: 50 } });
    const ready = server.waitUntilReady();
    await until('progress is logged', TIMEOUT, async () =>
      logLines.some(({ message, line }) => message === 'engine process is starting' && line === 'loading')
        ? true
        : undefined,
    );
    assert.equal(server.state, 'starting');
    writeFileSync(loadedFile, '');
    await ready;
    assert.equal(server.state, 'ready');
    await server.stop();
  });

  test('kills the process group of a program that does not load in time', async () => {
    const { server, logLines } = createTestServer(
      { loadsUntil: join(root, 'never'), ignoresSigterm: true },
      { times: { startMsMax: 1_500 } },
    );
    const rejection = assert.rejects(server.waitUntilReady(), { kind: 'overloaded' });
    const pid = await until('the program runs', TIMEOUT, async () => server.pid);
    await rejection;
    await waitForExit([pid]);
    assert.equal(logLines[0]?.message, 'engine process not ready in time');
    await server.stop();
  });

  test('stops before its program runs, and while it loads', async () => {
    const { server: stoppedEarly, runFolder } = createTestServer();
    const rejection = assert.rejects(stoppedEarly.waitUntilReady(), { kind: 'overloaded' });
    await stoppedEarly.stop();
    await rejection;
    assert.deepEqual([stoppedEarly.pid, readdirSync(runFolder)], [undefined, []]);
    const { server } = createTestServer({ loadsUntil: join(root, 'never') });
    const loadingRejection = assert.rejects(server.waitUntilReady(), { kind: 'overloaded' });
    const pid = await until('the program runs', TIMEOUT, async () => server.pid);
    await server.stop();
    await loadingRejection;
    assert.ok(!isRunning(pid));
  });

  test('refuses callers at once after three failed starts, logs the last lines without the key, and recovers', async () => {
    const repairedFile = join(root, 'repaired');
    const { server, logLines } = createTestServer({ crashesUntil: repairedFile });
    await assert.rejects(server.waitUntilReady(), { kind: 'overloaded' });
    assert.equal(server.state, 'failing');
    await assert.rejects(server.waitUntilReady(), { kind: 'overloaded' });
    const exitLine = logLines.find(({ message }) => message === 'engine process ended');
    assert.equal(exitLine?.code, 3);
    assert.match(String(exitLine?.stderr), /^no memory left for key \[hidden\]\n.*exited: code 3$/s);
    writeFileSync(repairedFile, '');
    await until('the program is ready', TIMEOUT, async () => (server.state === 'ready' ? true : undefined));
    await server.stop();
  });

  test('logs that its program does not exist', async () => {
    const command = join(root, 'no-such-program');
    const { server, logLines, runFolder } = createTestServer(
      {},
      { createLine: () => ({ command, args: [], environment: {} }) },
    );
    await assert.rejects(server.waitUntilReady(), { kind: 'overloaded' });
    assert.match(String(logLines[0]?.stderr), /no-such-program did not start.*ENOENT/);
    await server.stop();
    assert.deepEqual(readdirSync(runFolder), []);
  });

  test('restarts a program that crashed in the middle of a response, with another key', async () => {
    const { server } = createTestServer();
    const first = await server.waitUntilReady();
    const response = await callProgram(first, '/crash-mid-response');
    await assert.rejects(response.text());
    await waitForConfirmedExit(server, first);
    const second = await server.waitUntilReady();
    assert.notEqual(second.apiKey, first.apiKey);
    assert.equal((await callProgram(second, '/info')).status, 200);
    assert.equal(await server.confirmExit(first), true, 'already confirmed');
    await server.stop();
  });

  test('keeps a running program after a failed call', async () => {
    const { server } = createTestServer();
    const program = await server.waitUntilReady();
    assert.equal((await callProgram(program, '/fail')).status, 500);
    assert.equal(await server.confirmExit(program), false);
    assert.equal(await server.waitUntilReady(), program);
    await server.stop();
  });

  test('kills a program that hangs, and restarts it', async () => {
    const { server, logLines } = createTestServer(
      {},
      { times: { heartbeatMs: 20, heartbeatMsMax: 1_000, heartbeatsLostMax: 2 } },
    );
    const first = await server.waitUntilReady();
    const { pid } = await getProgramInfo(first);
    await callProgram(first, '/hang').catch(() => undefined);
    await waitForExit([pid]);
    await waitForConfirmedExit(server, first);
    assert.notEqual(await server.waitUntilReady(), first);
    assert.ok(logLines.some(({ message }) => message === 'engine process does not answer'));
    await server.stop();
  });

  test('kills a program that ignores SIGTERM after the grace period, with its descendants', async () => {
    const { server } = createTestServer({ ignoresSigterm: true, hasChildren: true });
    const { pid, children } = await getProgramInfo(await server.waitUntilReady());
    assert.equal(children.length, 2);
    const stopStartedAt = performance.now();
    await server.stop();
    assert.ok(performance.now() - stopStartedAt >= 280);
    await waitForExit([pid, ...children]);
  });

  test('kills the descendants of a dead program before a restart', async () => {
    const { server } = createTestServer({ hasChildren: true });
    const first = await server.waitUntilReady();
    const { pid, children } = await getProgramInfo(first);
    process.kill(pid, 'SIGKILL');
    await waitForConfirmedExit(server, first);
    await server.waitUntilReady();
    assert.deepEqual(children.filter(isRunning), []);
    await server.stop();
  });

  test('kills the program of a killed guard, and restarts it', async () => {
    const { server, logLines } = createTestServer({ hasChildren: true });
    const first = await server.waitUntilReady();
    const { pid, children } = await getProgramInfo(first);
    process.kill(Number(logLines.find(({ message }) => message === 'engine process ready')?.pid), 'SIGKILL');
    await waitForExit([pid, ...children]);
    await waitForConfirmedExit(server, first);
    assert.notEqual(await server.waitUntilReady(), first);
    await server.stop();
  });
});

describe('command server of a process', () => {
  const url = new URL('../../src/engines/command/command-server.ts', import.meta.url).href;

  /** Starts a process with a command server whose program ignores SIGTERM. */
  const startParentProcess = async () => {
    const runFolder = mkdtempSync(join(root, 'run-'));
    const parameters = { port: 0, apiKey: 'KEY', folder: 'FOLDER', host: '' };
    const parent = spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        '--input-type=module',
        '-e',
        `import { createCommandServer } from ${JSON.stringify(url)};
         const log = { info() {}, warn() {} };
         const line = ${JSON.stringify(createTestLine({ ignoresSigterm: true, hasChildren: true })(parameters))};
         const server = createCommandServer({
           name: 'fake', runFolder: ${JSON.stringify(runFolder)}, environment: process.env, times: { graceMs: 100 },
           createLine: ({ port, apiKey }) => ({
             ...line,
             args: line.args.map((word) => (word === '0' ? String(port) : word)),
             environment: { ...line.environment, PROGRAM_KEY: apiKey },
           }),
         }, { log });
         console.log(JSON.stringify(await server.waitUntilReady()));`,
      ],
      { stdio: ['ignore', 'pipe', 'inherit'], detached: true },
    );
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const { pid, children } = await getProgramInfo(JSON.parse(String(line)) as RunningProgram);
    assert.ok(parent.pid !== undefined && pid > 1 && children.length === 2);
    return { parent: parent.pid, pids: [pid, ...children], runFolder };
  };

  for (const [how, getTarget] of [
    ['leaves nothing behind when the process is killed', (pid: number) => pid],
    ['leaves nothing behind when the whole process group is killed', (pid: number) => -pid],
  ] as const)
    test(how, async () => {
      const { parent, pids, runFolder } = await startParentProcess();
      process.kill(getTarget(parent), 'SIGKILL');
      await waitForExit(pids);
      await until('its folder is removed', TIMEOUT, async () =>
        readdirSync(runFolder).length === 0 ? true : undefined,
      );
    });
});
