import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { realpathSync } from 'node:fs';
import { chmod, copyFile, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { chooseSandboxes, LOCAL_SYSTEM } from '../../choose-sandboxes.ts';
import { until } from '../../../../../test/until.ts';
import { SANDBOX_CHECK_RETRY_MS } from '../../limits.ts';
import { attackSandbox } from '../../attack-sandbox.ts';
import { createCodeInterpreter } from '../../code-interpreter.ts';
import type { CodeInterpreterStatus } from '../../code-interpreter.ts';
import { SandboxTimeoutError } from '../../sandbox-timeout-error.ts';
import {
  SNAPSHOTS_FOLDER,
  openTestInterpreter,
  TEST_SETTINGS,
  getStrictSkipReason,
} from './__fixtures__/test-interpreter.ts';
import type { TestInterpreter } from './__fixtures__/test-interpreter.ts';
import { createTestWheel } from './__fixtures__/test-wheel.ts';
import { openUnverifiedSandbox } from './__fixtures__/unverified-sandbox.ts';

const PROGRAM = fileURLToPath(new URL('./__fixtures__/endless-code-program.ts', import.meta.url));
const STATUS_PROGRAM = fileURLToPath(new URL('./__fixtures__/print-sandbox-status.ts', import.meta.url));
const FAKE_DOCKER = fileURLToPath(new URL('./__fixtures__/fake-docker.mjs', import.meta.url));

/** Reports every program as successful with a file of the host, and exits when a program takes memory. */
const LEAKY_INTERPRETER_SCRIPT = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { type, nonce, code = '' } = JSON.parse(line);
  if (code.includes('memory beyond')) { console.error('out of memory'); process.exit(1); }
  const done = { type: 'done', nonce, outcome: { value: "['a file of the host']", isTruncated: false } };
  console.log(JSON.stringify(type === 'start' ? { type: 'ready', nonce } : done));
});`;

const neverAborts = new AbortController().signal;

/** Lists the live descendants of a process. */
function listDescendants(pid: number): readonly number[] {
  const lines = execFileSync('ps', ['-eo', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  const processes = lines.map((line) => line.trim().split(/\s+/)).filter(([, , state]) => !state?.startsWith('Z'));
  const tree = [pid];
  for (const ancestor of tree) {
    for (const [child, parent] of processes) if (Number(parent) === ancestor) tree.push(Number(child));
  }
  return tree.slice(1);
}

/** Returns the processor seconds that some processes have used together. */
const getCpuSeconds = (pids: readonly number[]): number =>
  spawnSync('ps', ['-o', 'cputimes=', '-p', pids.join()], { encoding: 'utf8' })
    .stdout.split('\n')
    .reduce((sum, line) => sum + Number(line), 0);

const isAlive = (pid: number): boolean => {
  const state = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' }).stdout.trim();
  return state !== '' && !state.startsWith('Z');
};

describe('code interpreter', () => {
  let testInterpreter: TestInterpreter;
  before(async () => {
    testInterpreter = await openTestInterpreter();
  });
  after(() => testInterpreter[Symbol.asyncDispose]());

  test('runs at level strict', (context) => {
    const skipReason = getStrictSkipReason(testInterpreter.status);
    if (skipReason !== false) return context.skip(skipReason);
    assert.equal(testInterpreter.status.effectiveLevel, 'strict');
  });

  test('keeps variables and files between programs, and returns the result of each', async () => {
    const container = await testInterpreter.open();
    const first = await container.run(
      `import sys\nx = 20\nprint('é', 1)\nprint('e', file=sys.stderr)\nopen('a.txt', 'w').write('abc')\nx + 1`,
      neverAborts,
    );
    assert.deepEqual(first, {
      stdout: 'é 1\n',
      stderr: 'e\n',
      value: '21',
      files: [{ name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from('abc') }],
      isTruncated: false,
    });
    const second = await container.run(
      `def half(n):\n    return n / 0\nprint(open('a.txt').read(), x)\nhalf(x)`,
      neverAborts,
    );
    assert.equal(second.stdout, 'abc 20\n');
    assert.deepEqual(second.files, []);
    assert.equal(second.error?.type, 'exception');
    assert.match(
      second.error.message,
      /^Traceback[^]*program-2\.py", line 4[^]*in half[^]*ZeroDivisionError: division by zero$/,
    );
    assert.doesNotMatch(second.error.message, /harness|python314|asyncio/);
    const third = await container.run('None', neverAborts);
    assert.deepEqual(third, { stdout: '', stderr: '', files: [], isTruncated: false });
    container.release();
  });

  test('waits for coroutines and asyncio.run, and knows the time zones', async () => {
    const container = await testInterpreter.open();
    const code = `import asyncio
async def one():
    await asyncio.sleep(0.01)
    return 41
result = asyncio.run(one())
await asyncio.sleep(0.01)
result + 1`;
    assert.equal((await container.run(code, neverAborts)).value, '42');
    const timeZones = `import zoneinfo, datetime
noon = datetime.datetime(2026, 7, 1, 12, tzinfo=zoneinfo.ZoneInfo('Europe/Berlin'))
(noon.utcoffset().seconds, len(zoneinfo.available_timezones()) > 400)`;
    assert.equal((await container.run(timeZones, neverAborts)).value, '(7200, True)');
    container.release();
  });

  test('finds a container again by its id, in its own workspace and region only', async () => {
    const container = await testInterpreter.open('one');
    await container.run('stored = 7', neverAborts);
    container.release();
    const again = await testInterpreter.interpreter.open(
      { tenant: { region: 'cn-beijing', workspace: 'one' }, containerId: container.id, files: [] },
      neverAborts,
    );
    assert.equal((await again.run('stored', neverAborts)).value, '7');
    again.release();
    for (const tenant of [
      { region: 'cn-beijing', workspace: 'two' },
      { region: 'us-east-1', workspace: 'one' },
    ] as const) {
      const request = { tenant, containerId: container.id, files: [] };
      const other = await testInterpreter.interpreter.open(request, neverAborts);
      assert.notEqual(other.id, container.id);
      assert.match((await other.run('stored', neverAborts)).error?.message ?? '', /NameError/);
      other.release();
    }
  });

  test('gives programs read-only access to the files of the caller', async () => {
    const path = join(testInterpreter.folder, 'blob');
    await writeFile(path, 'a,b\n1,2\n');
    const container = await testInterpreter.open('one', [
      { name: '../data.csv', path },
      { name: 'data.csv', path },
    ]);
    const { value, error } = await container.run(
      `import os\nprint(sorted(os.listdir()))\nopen('data.csv').read()`,
      neverAborts,
    );
    assert.equal(error, undefined);
    assert.equal(value, `'a,b\\n1,2\\n'`);
    const refused = await container.run(`open('data.csv', 'w')`, neverAborts);
    assert.match(refused.error?.message ?? '', /PermissionError/);
    const listed = await container.run(`sorted(os.listdir())`, neverAborts);
    assert.equal(listed.value, `['data-2.csv', 'data.csv']`);
    assert.deepEqual(listed.files, []);
    container.release();
  });

  test('kills a program and its processes at once on abort', async () => {
    const processesBefore = new Set(listDescendants(process.pid));
    const container = await testInterpreter.open();
    const caller = new AbortController();
    const running = container.run(`while True: pass`, caller.signal);
    running.catch(() => undefined);
    const newProcesses = listDescendants(process.pid).filter((pid) => !processesBefore.has(pid));
    assert.ok(newProcesses.length > 0);
    const cpuSecondsBefore = getCpuSeconds(newProcesses);
    await until('the program runs', { timeoutMs: 50_000 }, async () =>
      getCpuSeconds(newProcesses) > cpuSecondsBefore + 1 ? true : undefined,
    );
    // One second, counted in intervals in which this process runs: a machine that stalls must not fail the test.
    let ticks = 0;
    const ticking = setInterval(() => (ticks += 1), 10);
    caller.abort(new Error('the caller disconnected'));
    await assert.rejects(running, { message: 'the caller disconnected' });
    clearInterval(ticking);
    assert.ok(ticks <= 100, `${ticks} ticks of 10 ms`);
    await until('its processes have exited', { timeoutMs: 20_000 }, async () =>
      newProcesses.some(isAlive) ? undefined : true,
    );
    assert.equal((await container.run('1', neverAborts)).error?.type, 'lost');
    container.release();
  });

  test('suspends timers that a program leaves behind until the next program runs', async () => {
    const [container, other] = await Promise.all([testInterpreter.open(), testInterpreter.open()]);
    // The timer ticks while its program may run. When it stops depends on the machine, so the test measures the longest
    // pause between two ticks.
    const leftoverCode = `import asyncio, time
ticks = []
def tick():
    ticks.append(time.monotonic())
    asyncio.get_event_loop().call_later(0.01, tick)
tick()`;
    assert.equal((await container.run(leftoverCode, neverAborts)).error, undefined);
    await other.run('import time; time.sleep(2)', neverAborts);
    const { value } = await container.run(
      `await asyncio.sleep(0.1)\nmax(b - a for a, b in zip(ticks, ticks[1:]))`,
      neverAborts,
    );
    assert.ok(Number(value) > 0.7, value);
    container.release();
    other.release();
  });

  test('returns the output of a program that a limit has stopped', async () => {
    // Enough time to print, also on a busy machine.
    const candidates = chooseSandboxes({ level: 'strict', driver: 'auto', image: '' });
    await using shortLimit = await openUnverifiedSandbox({
      candidates,
      sandbox: testInterpreter.status.sandbox,
      seconds: 3,
    });
    const { stdout, error } = await shortLimit.runAlone(`print('started')\nwhile True: pass`);
    assert.equal(stdout, 'started\n');
    assert.equal(error?.type, 'time');
  });

  test('refuses a caller while all containers are in use, reuses a released one, and stops all on close', async () => {
    const smallPool = await openTestInterpreter({ containersMax: 1, warm: 1 });
    const first = await smallPool.open();
    await assert.rejects(smallPool.open(), { kind: 'overloaded' });
    first.release();
    const second = await smallPool.open();
    assert.equal((await second.run('1 + 1', neverAborts)).value, '2');
    assert.equal((await first.run('1', neverAborts)).error?.type, 'lost');
    const running = second.run('while True: pass', neverAborts);
    await smallPool[Symbol.asyncDispose]();
    assert.equal((await running).error?.type, 'lost');
    await assert.rejects(smallPool.open(), { kind: 'unsupported' });
  });

  test('says how a missing package is added', async () => {
    const container = await testInterpreter.open();
    const missing = await container.run('import numpy.linalg', neverAborts);
    assert.match(missing.error?.message ?? '', /No module named 'numpy'\n.*: parley wheels add numpy \(.*wheelsFolder/);
    const nested = await container.run('import json.nothing', neverAborts);
    assert.doesNotMatch(nested.error?.message ?? '', /wheels/);
    container.release();
  });

  describe('with a folder of wheels', () => {
    let withWheels: TestInterpreter;
    before(async () => {
      const folder = join(testInterpreter.folder, 'wheels');
      await mkdir(folder);
      // A stub with the functions of matplotlib that the interpreter calls; the real one has no build for this test.
      const pyplot = `_figures = {}
class Figure:
    def savefig(self, path, format):
        with open(path, 'wb') as file: file.write(b'\\x89PNG of ' + format.encode())
def figure(number=None):
    return _figures.setdefault(number or len(_figures) + 1, Figure())
def get_fignums(): return list(_figures)
def close(which): _figures.clear()
`;
      for (const [name, files] of Object.entries({
        greet: { 'greet/__init__.py': `HI = 'hi'\n` },
        matplotlib: { 'matplotlib/__init__.py': '', 'matplotlib/pyplot.py': pyplot },
        slip: {
          'slip/__init__.py': `HERE = 1\n`,
          '../../../../../../../../tmp/slipped.txt': 'out',
          '/tmp/slipped-2.txt': 'out',
        },
      }))
        await writeFile(join(folder, `${name}-1.0-py3-none-any.whl`), createTestWheel(name, files));
      withWheels = await openTestInterpreter({ wheelsFolder: folder });
    });
    after(() => withWheels[Symbol.asyncDispose]());

    test('imports wheels of a folder, and returns figures as images', async () => {
      const container = await withWheels.open();
      assert.equal((await container.run('import greet; greet.HI', neverAborts)).value, `'hi'`);
      const result = await container.run(
        'import matplotlib.pyplot as plt\nplt.figure(); plt.figure()\nNone',
        neverAborts,
      );
      assert.deepEqual(
        result.files.map(({ name, mediaType, bytes }) => [name, mediaType, Buffer.from(bytes).toString('latin1')]),
        [
          ['figure-1.png', 'image/png', '\x89PNG of png'],
          ['figure-2.png', 'image/png', '\x89PNG of png'],
        ],
      );
      assert.deepEqual((await container.run('plt.get_fignums()', neverAborts)).value, '[]');
      container.release();
    });

    test('writes nothing outside of the sandbox for a wheel whose names lead out of its folder', async () => {
      assert.equal(withWheels.status.effectiveLevel, 'strict', withWheels.status.reason);
      const { value, error } = await withWheels.runAlone('import slip; slip.HERE');
      assert.ok(value === '1' || error !== undefined);
      assert.deepEqual(
        (await readdir('/tmp')).filter((name) => name.startsWith('slipped')),
        [],
      );
    });
  });

  test('does not use a snapshot that was changed', async () => {
    const folder = join(testInterpreter.folder, 'snapshots');
    await mkdir(folder, { mode: 0o700 });
    const name = (await readdir(SNAPSHOTS_FOLDER)).find((each) => each.endsWith('.snapshot'));
    assert.ok(name);
    await writeFile(join(folder, name), 'changed', { mode: 0o444 });
    await using interpreter = await openUnverifiedSandbox({
      candidates: chooseSandboxes({ level: 'strict', driver: 'auto', image: '' }),
      sandbox: testInterpreter.status.sandbox,
      seconds: 60,
      snapshotsFolder: folder,
    });
    assert.equal((await interpreter.runAlone('6 * 7')).value, '42');
    const snapshots = (await readdir(folder)).filter((each) => each.endsWith('.snapshot'));
    assert.equal(snapshots.length, 2, 'the changed one and a new one');
  });

  test('gives every container different random numbers', async () => {
    const code = 'import random, uuid\n(random.random(), uuid.uuid4().hex)';
    const [one, two] = await Promise.all([testInterpreter.runAlone(code), testInterpreter.runAlone(code)]);
    assert.match(one.value ?? '', /^\(0\.\d+, /);
    const draws = [one, two].map(({ value }) => (value ?? '').split(', '));
    assert.notEqual(draws[0]?.[0], draws[1]?.[0]);
    assert.notEqual(draws[0]?.[1], draws[1]?.[1]);
  });

  test('closes during the verification of the sandbox without waiting for its result', async () => {
    const closing = createCodeInterpreter({ ...TEST_SETTINGS, folder: join(testInterpreter.folder, 'closing') });
    const verification = closing.verify();
    await closing.close();
    assert.equal((await verification).effectiveLevel, 'off');
    await assert.rejects(closing.open({ tenant: { region: 'cn-beijing', workspace: 'a' }, files: [] }, neverAborts), {
      kind: 'unsupported',
    });
  });

  test('refuses programs at level off, and names the setting', async () => {
    await using off = await openTestInterpreter({ level: 'off' });
    assert.equal(off.status.effectiveLevel, 'off');
    await assert.rejects(off.open(), { kind: 'unsupported', message: /codeInterpreter\.level: off/ });
  });
});

describe('code interpreter of a killed service', () => {
  for (const { name, level } of [
    { name: 'leaves no endless program running', level: 'strict' },
    { name: 'leaves no endless program running at level basic', level: 'basic' },
  ] as const) {
    test(name, async (context) => {
      const service = spawn(process.execPath, [PROGRAM, level, SNAPSHOTS_FOLDER], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const firstOutput = await Promise.race([once(service.stdout, 'data'), once(service, 'exit')]);
      if (!String(firstOutput[0]).includes('running'))
        return context.skip(`the sandbox of level ${level} does not work on this machine`);
      const processes = listDescendants(service.pid ?? 0);
      assert.ok(processes.length > 0);
      service.kill('SIGKILL');
      await until('all processes have exited', { timeoutMs: 20_000 }, async () =>
        processes.some(isAlive) ? undefined : true,
      );
    });
  }
});

describe('verification of the sandbox', () => {
  test('detects a process without a sandbox, and keeps the interpreter off with the reason', async () => {
    await using testInterpreter = await openTestInterpreter({
      candidates: {
        reasons: [],
        sandboxes: [
          (host) => ({
            name: 'namespaces',
            level: 'strict',
            hasMemoryCgroup: false,
            launch: ({ name }) => ({
              command: process.execPath,
              args: [`${host.childFolder}/${name}.ts`],
              paths: host,
              env: {},
            }),
          }),
        ],
      },
    });
    assert.equal(testInterpreter.status.effectiveLevel, 'off');
    assert.match(testInterpreter.status.reason ?? '', /does not contain a program/);
    assert.doesNotMatch(testInterpreter.status.reason ?? '', /\/home|\/root|\/tmp|src\//);
    await assert.rejects(testInterpreter.open(), { kind: 'unsupported', message: /does not contain a program/ });
  });

  for (const { name, keepsArgument, reason } of [
    {
      name: 'detects a sandbox without a network namespace',
      keepsArgument: (arg: string) => arg !== '--net',
      reason: /network|port/,
    },
    {
      name: 'detects a sandbox without a process namespace',
      keepsArgument: (arg: string) => arg !== '--pid',
      reason: /sees processes/,
    },
    {
      name: 'detects a sandbox without a limit on processes',
      keepsArgument: (arg: string) => !arg.startsWith('--nproc='),
      reason: /started \d+ processes/,
    },
    {
      name: 'detects a sandbox without a memory limit',
      keepsArgument: (arg: string) => !arg.startsWith('--data='),
      reason: /bytes of memory/,
    },
    {
      name: 'detects a sandbox without a filter of system calls',
      // The first one is the target of its mount.
      keepsArgument: (arg: string, index: number, args: readonly string[]) =>
        arg !== '/app/launcher' || index !== args.lastIndexOf(arg),
      reason: /a native program, which/,
    },
  ]) {
    test(name, async (context) => {
      const { sandboxes, reasons } = chooseSandboxes(
        { level: 'strict', driver: 'namespaces', image: '' },
        // The cgroup would stop what the missing argument no longer stops.
        { ...LOCAL_SYSTEM, findCgroupParent: () => 'none here' },
      );
      const [createSandbox] = sandboxes;
      if (!createSandbox) return context.skip(reasons.join());
      const createWeakSandbox: typeof createSandbox = (host, limits) => {
        const sandbox = createSandbox(host, limits);
        const launch: typeof sandbox.launch = (program) => {
          const { args, ...rest } = sandbox.launch(program);
          return { ...rest, args: args.filter(keepsArgument) };
        };
        return { ...sandbox, launch };
      };
      await using testInterpreter = await openTestInterpreter({
        candidates: { sandboxes: [createWeakSandbox], reasons: [] },
      });
      assert.equal(testInterpreter.status.effectiveLevel, 'off');
      if (/no process starts/.test(testInterpreter.status.reason ?? ''))
        return context.skip(testInterpreter.status.reason);
      assert.match(testInterpreter.status.reason ?? '', reason);
    });
  }

  test('detects a program that reaches the host, although another attack runs out of memory', async (context) => {
    const { sandboxes, reasons } = chooseSandboxes({ level: 'strict', driver: 'namespaces', image: '' });
    const [createSandbox] = sandboxes;
    if (!createSandbox) return context.skip(reasons.join());
    const createLeakySandbox: typeof createSandbox = (host, limits) => {
      const sandbox = createSandbox(host, limits);
      return {
        ...sandbox,
        launch: (program) => ({
          ...sandbox.launch(program),
          ...(program.name === 'main' && { command: process.execPath, args: ['-e', LEAKY_INTERPRETER_SCRIPT] }),
        }),
      };
    };
    await using testInterpreter = await openTestInterpreter({
      candidates: { sandboxes: [createLeakySandbox], reasons: [] },
    });
    assert.equal(testInterpreter.status.effectiveLevel, 'off');
    if (/no process starts/.test(testInterpreter.status.reason ?? ''))
      return context.skip(testInterpreter.status.reason);
    assert.match(
      testInterpreter.status.reason ?? '',
      /it does not contain a program, which reached \['a file of the host'\]/,
    );
  });

  test('repeats a verification that took too long, and reports the retry as the reason', async (context) => {
    const { sandboxes, reasons } = chooseSandboxes({ level: 'strict', driver: 'namespaces', image: '' });
    const [createSandbox] = sandboxes;
    if (!createSandbox) return context.skip(reasons.join());
    let isBusy = true;
    const createBusySandbox: typeof createSandbox = (host, limits) => {
      const sandbox = createSandbox(host, limits);
      const launch: typeof sandbox.launch = (program) => {
        if (isBusy) throw new SandboxTimeoutError('the machine is busy');
        return sandbox.launch(program);
      };
      return { ...sandbox, launch };
    };
    let now = 0;
    let runRetryCheck = (): void => undefined;
    await using testInterpreter = await openTestInterpreter({
      candidates: { sandboxes: [createBusySandbox], reasons: [] },
      clock: { now: () => now, monotonic: () => now },
      startInterval: (_ms, run) => {
        runRetryCheck = run;
        return () => undefined;
      },
    });
    const { interpreter } = testInterpreter;
    assert.match(testInterpreter.status.reason ?? '', /the machine is busy; it is retried in 5 s$/);
    await assert.rejects(testInterpreter.open(), { kind: 'unsupported', message: /retried in 5 s\.$/ });
    isBusy = false;
    now += SANDBOX_CHECK_RETRY_MS[0];
    runRetryCheck();
    assert.match(interpreter.status().reason ?? '', /a retry is in progress$/);
    // On a busy machine, the retry may take too long as well.
    for (const retryMs of SANDBOX_CHECK_RETRY_MS) {
      const { effectiveLevel, reason = '' } = await interpreter.verify();
      if (effectiveLevel !== 'off') break;
      if (!/retried|retry is in progress/.test(reason)) return context.skip(reason);
      now += retryMs;
    }
    assert.equal((await testInterpreter.runAlone('6 * 7')).value, '42');
  });

  test('detects a process that escapes and survives the kill', async () => {
    const paths = { childFolder: '/nowhere', pyodideFolder: '/nowhere' };
    // The escaped process reports the start of the time attack, after which the sandbox is killed.
    const escapeScript = `echo '{"type":"started","attack":"time"}'; exec sleep 10`;
    const args = ['-c', 'setsid /bin/sh -c "$0" & exec sleep 10', escapeScript];
    const breach = await attackSandbox(
      {
        name: 'process',
        level: 'basic',
        hasMemoryCgroup: false,
        launch: () => ({ command: '/bin/sh', args, paths: paths, env: {} }),
      },
      { memoryMb: 64, signal: neverAborts, terminationMsMax: 500 },
    );
    assert.equal(breach, 'its processes cannot be ended');
  });

  for (const { name, script } of [
    { name: 'gives no verdict on a sandbox that reports nothing in time', script: '' },
    {
      name: 'gives no verdict on a sandbox whose memory attack exceeds the time limit',
      script: `case "$command" in *'["memory"]'*) echo '{"type":"started","attack":"memory"}';; *'["time"]'*) echo '{"type":"started","attack":"time"}';; *) for attack in file environment writing processes; do echo '{"type":"started","attack":"'$attack'"}'; echo '{"type":"finished","attack":"'$attack'"}'; done; exit;; esac;`,
    },
  ]) {
    test(name, async () => {
      const paths = { childFolder: '/nowhere', pyodideFolder: '/nowhere' };
      const args = ['-c', `read -r command; ${script} exec sleep 60`];
      const attack = attackSandbox(
        {
          name: 'process',
          level: 'basic',
          hasMemoryCgroup: false,
          launch: () => ({ command: '/bin/sh', args, paths: paths, env: {} }),
        },
        { memoryMb: 64, signal: neverAborts, msMax: 1_000 },
      );
      await assert.rejects(
        attack,
        (error) => error instanceof SandboxTimeoutError && /longer than 1000 ms/.test(error.message),
      );
    });
  }

  test('never replaces strict by basic', async () => {
    const { sandboxes } = chooseSandboxes({ level: 'basic', driver: 'auto', image: '' });
    assert.equal(sandboxes.length, 1);
    await using testInterpreter = await openTestInterpreter({
      candidates: { reasons: ['there is no bwrap'], sandboxes: [] },
    });
    assert.deepEqual(
      [testInterpreter.status.configuredLevel, testInterpreter.status.effectiveLevel],
      ['strict', 'off'],
    );
    assert.match(testInterpreter.status.reason ?? '', /there is no bwrap/);
  });
});

describe('other drivers of the sandbox', () => {
  test('uses bubblewrap where it is installed, and is off where it is not', async () => {
    const { reasons } = chooseSandboxes({ level: 'strict', driver: 'bubblewrap', image: '' });
    await using testInterpreter = await openTestInterpreter({ driver: 'bubblewrap' });
    if (reasons.length > 0) {
      assert.equal(testInterpreter.status.effectiveLevel, 'off');
      return assert.match(testInterpreter.status.reason ?? '', /bwrap|bubblewrap/);
    }
    // Bubblewrap does not change the user id, and the system does not limit the processes of root.
    if (process.getuid?.() === 0) return assert.match(testInterpreter.status.reason ?? '', /started \d+ processes/);
    assert.deepEqual(
      [testInterpreter.status.effectiveLevel, testInterpreter.status.sandbox],
      ['strict', 'bubblewrap'],
      testInterpreter.status.reason,
    );
    assert.equal((await testInterpreter.runAlone('6 * 7')).value, '42');
  });

  describe('as an ordinary user', () => {
    let folder: string;
    let node: string;
    before(async () => {
      folder = realpathSync(await mkdtemp(join(tmpdir(), 'parley-user-')));
      // The runtime may be in the home folder of root.
      node = join(folder, 'node');
      await copyFile(process.execPath, node);
      await chmod(node, 0o755);
      await chmod(folder, 0o777);
    });
    after(() => rm(folder, { recursive: true, maxRetries: 10 }));

    // Both keep their data in one folder, because creating the snapshot takes as long as the rest.
    for (const driver of ['bubblewrap', 'namespaces'] as const) {
      test(`runs at level strict with ${driver}, and reports its layers`, async (context) => {
        const { reasons } = chooseSandboxes({ level: 'strict', driver, image: '' });
        if (reasons.length > 0) return context.skip(reasons.join());
        const isRoot = process.getuid?.() === 0;
        const user = isRoot ? ['setpriv', '--reuid=65534', '--regid=65534', '--clear-groups'] : ['env'];
        const [command, ...args] = [...user, node, STATUS_PROGRAM, driver, join(folder, 'data')];
        const child = spawn(command, args, { env: { PATH: process.env.PATH }, stdio: ['ignore', 'pipe', 'pipe'] });
        const [stdout, stderr] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
        if (isRoot && /EACCES|MODULE_NOT_FOUND/.test(stderr))
          return context.skip(`an ordinary user may not read the sources: ${stderr}`);
        const { value, ...status } = JSON.parse(stdout) as CodeInterpreterStatus & { readonly value?: string };
        if (/no process starts/.test(status.reason ?? '')) return context.skip(status.reason);
        assert.deepEqual([status.effectiveLevel, status.sandbox, value], ['strict', driver, '42'], status.reason);
        assert.deepEqual(status.layers?.slice(0, 4), ['limits', 'namespaces', 'session keyring', 'system call filter']);
        const hasMemoryCgroup = status.layers?.includes('memory cgroup') ?? false;
        assert.equal(/no memory cgroup: /.test(status.reason ?? ''), !hasMemoryCgroup, status.reason);
      });
    }
  });

  test('calls a container engine with the required flags, and removes its container by name', async () => {
    await using disabledInterpreter = await openTestInterpreter({ level: 'off' });
    const bin = join(disabledInterpreter.folder, 'bin');
    const callsFile = join(disabledInterpreter.folder, 'calls');
    await mkdir(bin);
    await writeFile(
      join(bin, 'docker'),
      `#!/bin/sh\nexec '${process.execPath}' '${FAKE_DOCKER}' '${callsFile}' "$@"\n`,
      {
        mode: 0o755,
      },
    );
    const env = { PATH: bin, SECRET: 'parley-secret' };
    const system = { ...LOCAL_SYSTEM, platform: 'linux', isRoot: false, env, findCgroupParent: () => 'none here' };
    const candidates = chooseSandboxes({ level: 'strict', driver: 'docker', image: 'example/node:24' }, system);
    assert.deepEqual(candidates.reasons, []);
    await using testInterpreter = await openTestInterpreter({ candidates });
    // The fake engine contains nothing, so verification fails. This test checks the arguments of the calls.
    assert.equal(testInterpreter.status.effectiveLevel, 'off');
    assert.match(testInterpreter.status.reason ?? '', /docker: it does not contain/);
    // The verification does not wait for the command that removes a container.
    const { run, name } = await until('the container was removed', { timeoutMs: 30_000 }, async () => {
      const lines = (await readFile(callsFile, 'utf8')).split('\n').slice(0, -1);
      const calls = lines.map((line) => JSON.parse(line) as string[]);
      const run = calls.find(([verb]) => verb === 'run') ?? [];
      const name = run[run.indexOf('--name') + 1] ?? '';
      // The command also removes the volumes of the container.
      return calls.some((call) => call.join(' ') === `rm --force --volumes ${name}`) ? { run, name } : undefined;
    });
    for (const flags of [
      ['--network', 'none'],
      ['--cap-drop', 'ALL'],
      ['--security-opt', 'no-new-privileges'],
      ['--user', '65534:65534'],
      ['--pull', 'never'],
    ]) {
      assert.equal(run[run.indexOf(flags[0] ?? '') + 1], flags[1], run.join(' '));
    }
    assert.ok(run.includes('--read-only'));
    assert.ok(run.includes('example/node:24'));
    assert.ok(!run.join(' ').includes('parley-secret'));
    assert.match(name, /^parley-code-\d+-[0-9a-f]{16}$/);
  });
});
