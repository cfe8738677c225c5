import assert from 'node:assert/strict';
import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { after, before, describe, test } from 'node:test';
import { chooseSandboxes } from '../../src/tools/code-interpreter/choose-sandboxes.ts';
import { until } from '../until.ts';
import { CODE_TRIAL_PAUSES_MS } from '../../src/core/limits.ts';
import { attackSandbox } from '../../src/tools/code-interpreter/attack-sandbox.ts';
import { createCodeInterpreter } from '../../src/tools/code-interpreter/code-interpreter.ts';
import { OutOfTime } from '../../src/tools/code-interpreter/out-of-time.ts';
import { IMAGES_FOLDER, openInterpreter, SETTINGS, whyNotStrict } from './__fixtures__/code-interpreter.ts';
import type { Bench } from './__fixtures__/code-interpreter.ts';
import { wheel } from './__fixtures__/wheel.ts';

const PROGRAM = fileURLToPath(new URL('__fixtures__/code-program.ts', import.meta.url));
const FAKE_DOCKER = fileURLToPath(new URL('__fixtures__/fake-docker.mjs', import.meta.url));

/** Says what it could do, and ends where it is to take memory. */
const LEAKY_INTERPRETER = `
require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { type, nonce, code = '' } = JSON.parse(line);
  if (code.includes('memory beyond')) { console.error('out of memory'); process.exit(1); }
  const done = { type: 'done', nonce, outcome: { value: "['a file of the host']", isCut: false } };
  console.log(JSON.stringify(type === 'start' ? { type: 'ready', nonce } : done));
});`;

const forever = new AbortController().signal;

/** All that descend from a process, as far as they live. */
function descendantsOf(pid: number): readonly number[] {
  const listed = execFileSync('ps', ['-eo', 'pid=,ppid=,stat='], { encoding: 'utf8' }).trim().split('\n');
  const processes = listed.map((line) => line.trim().split(/\s+/)).filter(([, , state]) => !state?.startsWith('Z'));
  const tree = [pid];
  for (const each of tree) {
    for (const [child, parent] of processes) if (Number(parent) === each) tree.push(Number(child));
  }
  return tree.slice(1);
}

/** Of a processor, by all of them. */
const secondsOf = (pids: readonly number[]): number =>
  spawnSync('ps', ['-o', 'cputimes=', '-p', pids.join()], { encoding: 'utf8' })
    .stdout.split('\n')
    .reduce((sum, line) => sum + Number(line), 0);

const lives = (pid: number): boolean => {
  const told = spawnSync('ps', ['-o', 'stat=', '-p', `${pid}`], { encoding: 'utf8' }).stdout.trim();
  return told !== '' && !told.startsWith('Z');
};

describe('a code interpreter', () => {
  let bench: Bench;
  before(async () => {
    bench = await openInterpreter();
  });
  after(() => bench[Symbol.asyncDispose]());

  test('holds at level strict', (context) => {
    const why = whyNotStrict(bench.status);
    if (why !== false) return context.skip(why);
    assert.equal(bench.status.inForce, 'strict');
  });

  test('keeps variables and files from one program to the next, and says what came of each', async () => {
    const container = await bench.open();
    const first = await container.run(
      `import sys\nx = 20\nprint('é', 1)\nprint('e', file=sys.stderr)\nopen('a.txt', 'w').write('abc')\nx + 1`,
      forever,
    );
    assert.deepEqual(first, {
      stdout: 'é 1\n',
      stderr: 'e\n',
      value: '21',
      files: [{ name: 'a.txt', mediaType: 'text/plain', bytes: Buffer.from('abc') }],
      isCut: false,
    });
    const second = await container.run(
      `def half(n):\n    return n / 0\nprint(open('a.txt').read(), x)\nhalf(x)`,
      forever,
    );
    assert.equal(second.stdout, 'abc 20\n');
    assert.deepEqual(second.files, []);
    assert.equal(second.error?.type, 'exception');
    assert.match(
      second.error.message,
      /^Traceback[^]*program-2\.py", line 4[^]*in half[^]*ZeroDivisionError: division by zero$/,
    );
    assert.doesNotMatch(second.error.message, /harness|python314|asyncio/);
    const third = await container.run('None', forever);
    assert.deepEqual(third, { stdout: '', stderr: '', files: [], isCut: false });
    container.release();
  });

  test('waits for what runs beside it', async () => {
    const container = await bench.open();
    const code = `import asyncio
async def one():
    await asyncio.sleep(0.01)
    return 41
result = asyncio.run(one())
await asyncio.sleep(0.01)
result + 1`;
    assert.equal((await container.run(code, forever)).value, '42');
    container.release();
  });

  test('a container is found again by its id, in its own workspace only', async () => {
    const container = await bench.open('one');
    await container.run('kept = 7', forever);
    container.release();
    const again = await bench.interpreter.open({ workspace: 'one', containerId: container.id, files: [] }, forever);
    assert.equal((await again.run('kept', forever)).value, '7');
    again.release();
    const other = await bench.interpreter.open({ workspace: 'two', containerId: container.id, files: [] }, forever);
    assert.notEqual(other.id, container.id);
    assert.match((await other.run('kept', forever)).error?.message ?? '', /NameError/);
    other.release();
  });

  test('files of the caller can be read and not written', async () => {
    const path = join(bench.folder, 'blob');
    await writeFile(path, 'a,b\n1,2\n');
    const container = await bench.open('one', [
      { name: '../data.csv', path },
      { name: 'data.csv', path },
    ]);
    const { value, error } = await container.run(
      `import os\nprint(sorted(os.listdir()))\nopen('data.csv').read()`,
      forever,
    );
    assert.equal(error, undefined);
    assert.equal(value, `'a,b\\n1,2\\n'`);
    const refused = await container.run(`open('data.csv', 'w')`, forever);
    assert.match(refused.error?.message ?? '', /PermissionError/);
    const listed = await container.run(`sorted(os.listdir())`, forever);
    assert.equal(listed.value, `['data-2.csv', 'data.csv']`);
    assert.deepEqual(listed.files, []);
    container.release();
  });

  test('an abort ends a program at once, and its processes', async () => {
    const before = new Set(descendantsOf(process.pid));
    const container = await bench.open();
    const end = new AbortController();
    const running = container.run(`while True: pass`, end.signal);
    running.catch(() => undefined);
    const own = descendantsOf(process.pid).filter((pid) => !before.has(pid));
    assert.ok(own.length > 0);
    const begunAt = secondsOf(own);
    await until('it runs', { withinMs: 50_000 }, async () => (secondsOf(own) > begunAt + 1 ? true : undefined));
    // Within a second in which this process runs: where the machine lets it stand still, that is one turn.
    let turns = 0;
    const turning = setInterval(() => (turns += 1), 10);
    end.abort(new Error('the caller has gone'));
    await assert.rejects(running, { message: 'the caller has gone' });
    clearInterval(turning);
    assert.ok(turns <= 100, `${turns} turns of 10 ms`);
    await until('its processes are gone', { withinMs: 20_000 }, async () => (own.some(lives) ? undefined : true));
    assert.equal((await container.run('1', forever)).error?.type, 'lost');
    container.release();
  });

  test('what a program leaves behind does nothing before the next one', async () => {
    const [container, other] = await Promise.all([bench.open(), bench.open()]);
    // The clock of what is left ticks while its program may run; how soon it is stopped is the machine's matter, so the
    // longest silence is looked at and not the last tick.
    const left = `import asyncio, time
seen = []
def tick():
    seen.append(time.monotonic())
    asyncio.get_event_loop().call_later(0.01, tick)
tick()`;
    assert.equal((await container.run(left, forever)).error, undefined);
    await other.run('import time; time.sleep(2)', forever);
    const { value } = await container.run(
      `await asyncio.sleep(0.1)\nmax(b - a for a, b in zip(seen, seen[1:]))`,
      forever,
    );
    assert.ok(Number(value) > 0.7, value);
    container.release();
    other.release();
  });

  test('what was printed before a limit ended it comes back', async () => {
    // Time enough to print, also on a busy machine.
    await using short = await openInterpreter({ seconds: 6 });
    const { stdout, error } = await short.runAlone(`print('begun')\nwhile True: pass`);
    assert.equal(stdout, 'begun\n');
    assert.equal(error?.type, 'time');
  });

  test('with all places in use a caller is refused, and one that is released makes room', async () => {
    await using small = await openInterpreter({ containersMax: 1 });
    const first = await small.open();
    await assert.rejects(small.open(), { kind: 'overloaded' });
    first.release();
    const second = await small.open('two');
    assert.equal((await second.run('1 + 1', forever)).value, '2');
    assert.equal((await first.run('1', forever)).error?.type, 'lost');
    second.release();
  });

  test('close ends everything', async () => {
    const closing = await openInterpreter({ warm: 1 });
    const container = await closing.open();
    const running = container.run('while True: pass', forever);
    await closing[Symbol.asyncDispose]();
    assert.equal((await running).error?.type, 'lost');
    await assert.rejects(closing.open(), { kind: 'unsupported' });
  });

  test('wheels of a folder can be imported, and figures come back as pictures', async () => {
    const folder = join(bench.folder, 'wheels');
    await mkdir(folder);
    await writeFile(join(folder, 'greet-1.0-py3-none-any.whl'), wheel('greet', { 'greet/__init__.py': `HI = 'hi'\n` }));
    // Of the real one there is no build here; what is asked of it is this.
    const pyplot = `_figures = {}
class Figure:
    def savefig(self, path, format):
        with open(path, 'wb') as file: file.write(b'\\x89PNG of ' + format.encode())
def figure(number=None):
    return _figures.setdefault(number or len(_figures) + 1, Figure())
def get_fignums(): return list(_figures)
def close(which): _figures.clear()
`;
    const files = { 'matplotlib/__init__.py': '', 'matplotlib/pyplot.py': pyplot };
    await writeFile(join(folder, 'matplotlib-1.0-py3-none-any.whl'), wheel('matplotlib', files));
    await using withWheels = await openInterpreter({ wheelsFolder: folder });
    const container = await withWheels.open();
    assert.equal((await container.run('import greet; greet.HI', forever)).value, `'hi'`);
    const drawn = await container.run('import matplotlib.pyplot as plt\nplt.figure(); plt.figure()\nNone', forever);
    assert.deepEqual(
      drawn.files.map(({ name, mediaType, bytes }) => [name, mediaType, Buffer.from(bytes).toString('latin1')]),
      [
        ['figure-1.png', 'image/png', '\x89PNG of png'],
        ['figure-2.png', 'image/png', '\x89PNG of png'],
      ],
    );
    assert.deepEqual((await container.run('plt.get_fignums()', forever)).value, '[]');
    container.release();
  });

  test('a wheel whose names lead out of its folder leads nowhere on this machine', async () => {
    const folder = join(bench.folder, 'slip');
    await mkdir(folder);
    const files = {
      'slip/__init__.py': `HERE = 1\n`,
      '../../../../../../../../tmp/slipped.txt': 'out',
      '/tmp/slipped-2.txt': 'out',
    };
    await writeFile(join(folder, 'slip-1.0-py3-none-any.whl'), wheel('slip', files));
    await using withWheels = await openInterpreter({ wheelsFolder: folder });
    assert.equal(withWheels.status.inForce, 'strict', withWheels.status.reason);
    const { value, error } = await withWheels.runAlone('import slip; slip.HERE');
    assert.ok(value === '1' || error !== undefined);
    assert.deepEqual(
      (await readdir('/tmp')).filter((name) => name.startsWith('slipped')),
      [],
    );
  });

  test('an image that somebody changed is not used', async () => {
    const folder = join(bench.folder, 'images');
    {
      await using first = await openInterpreter({ folder });
      assert.equal(first.status.inForce, 'strict', first.status.reason);
    }
    const name = (await readdir(folder)).find((each) => each.endsWith('.snapshot')) ?? '';
    await chmod(join(folder, name), 0o644);
    await writeFile(join(folder, name), 'changed');
    await using second = await openInterpreter({ folder });
    assert.equal((await second.runAlone('6 * 7')).value, '42');
  });

  test('two containers do not begin with the same chance', async () => {
    const draw = 'import random, uuid\n(random.random(), uuid.uuid4().hex)';
    const [one, two] = await Promise.all([bench.runAlone(draw), bench.runAlone(draw)]);
    assert.match(one.value ?? '', /^\(0\.\d+, /);
    const chances = [one, two].map(({ value }) => (value ?? '').split(', '));
    assert.notEqual(chances[0]?.[0], chances[1]?.[0]);
    assert.notEqual(chances[0]?.[1], chances[1]?.[1]);
  });

  test('a service that closes while the sandbox is attacked does not wait for it', async () => {
    const closing = createCodeInterpreter({ ...SETTINGS, folder: join(bench.folder, 'closing') });
    const preparing = closing.prepare();
    await closing.close();
    assert.equal((await preparing).inForce, 'off');
    await assert.rejects(closing.open({ workspace: 'a', files: [] }, forever), { kind: 'unsupported' });
  });

  test('off says that it is off', async () => {
    await using off = await openInterpreter({ level: 'off' });
    assert.equal(off.status.inForce, 'off');
    await assert.rejects(off.open(), { kind: 'unsupported', message: /codeInterpreter\.level: off/ });
  });
});

describe('a service that is killed', () => {
  for (const { name, level } of [
    { name: 'takes programs that never end with it', level: 'strict' },
    { name: 'takes programs that never end with it at level basic', level: 'basic' },
  ] as const) {
    test(name, async (context) => {
      const service = spawn(process.execPath, [PROGRAM, level, IMAGES_FOLDER], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const begun = await Promise.race([once(service.stdout, 'data'), once(service, 'exit')]);
      if (!String(begun[0]).includes('running')) return context.skip(`${level} does not hold on this machine`);
      const processes = descendantsOf(service.pid ?? 0);
      assert.ok(processes.length > 0);
      service.kill('SIGKILL');
      await until('nothing of it lives', { withinMs: 20_000 }, async () => (processes.some(lives) ? undefined : true));
    });
  }
});

describe('where the sandbox does not hold', () => {
  test('a process without any sandbox is found out, the interpreter stays off and says why', async () => {
    await using bench = await openInterpreter({
      candidates: {
        reasons: [],
        sandboxes: [
          (host) => ({
            name: 'namespaces',
            level: 'strict',
            launch: ({ name }) => ({
              command: process.execPath,
              args: [`${host.childFolder}/${name}.ts`],
              places: host,
              env: {},
            }),
          }),
        ],
      },
    });
    assert.equal(bench.status.inForce, 'off');
    assert.match(bench.status.reason ?? '', /does not contain a program/);
    assert.doesNotMatch(bench.status.reason ?? '', /\/home|\/root|\/tmp|src\//);
    await assert.rejects(bench.open(), { kind: 'unsupported', message: /does not contain a program/ });
  });

  for (const { name, without, found } of [
    {
      name: 'one that lacks a network of its own is found out',
      without: (arg: string) => arg !== '--net',
      found: /network|port/,
    },
    {
      name: 'one that lacks processes of its own is found out',
      without: (arg: string) => arg !== '--pid',
      found: /sees processes/,
    },
    {
      name: 'one that lacks a bound of how many processes there are is found out',
      without: (arg: string) => !arg.startsWith('--nproc='),
      found: /started \d+ processes/,
    },
    {
      name: 'one that lacks a bound of its memory is found out',
      without: (arg: string) => !arg.startsWith('--data='),
      found: /bytes of memory/,
    },
  ]) {
    test(name, async (context) => {
      const { sandboxes, reasons } = chooseSandboxes({ level: 'strict', driver: 'namespaces', image: '' });
      const [whole] = sandboxes;
      if (!whole) return context.skip(reasons.join());
      const lacking: typeof whole = (host, limits) => {
        const sandbox = whole(host, limits);
        const launch: typeof sandbox.launch = (program) => {
          const { args, ...rest } = sandbox.launch(program);
          return { ...rest, args: args.filter(without) };
        };
        return { ...sandbox, launch };
      };
      await using bench = await openInterpreter({ candidates: { sandboxes: [lacking], reasons: [] } });
      assert.equal(bench.status.inForce, 'off');
      if (/does not start/.test(bench.status.reason ?? '')) return context.skip(bench.status.reason);
      assert.match(bench.status.reason ?? '', found);
    });
  }

  test('one out of which a program gets is found out, though the next one takes all memory', async (context) => {
    const { sandboxes, reasons } = chooseSandboxes({ level: 'strict', driver: 'namespaces', image: '' });
    const [whole] = sandboxes;
    if (!whole) return context.skip(reasons.join());
    const leaky: typeof whole = (host, limits) => {
      const sandbox = whole(host, limits);
      return {
        ...sandbox,
        launch: (program) => ({
          ...sandbox.launch(program),
          ...(program.name === 'main' && { command: process.execPath, args: ['-e', LEAKY_INTERPRETER] }),
        }),
      };
    };
    await using bench = await openInterpreter({ candidates: { sandboxes: [leaky], reasons: [] } });
    assert.equal(bench.status.inForce, 'off');
    if (/does not start/.test(bench.status.reason ?? '')) return context.skip(bench.status.reason);
    assert.match(bench.status.reason ?? '', /it does not contain a program, which has \['a file of the host'\]/);
  });

  test('one that took too long is tried again, and the reason says so', async (context) => {
    const { sandboxes, reasons } = chooseSandboxes({ level: 'strict', driver: 'namespaces', image: '' });
    const [whole] = sandboxes;
    if (!whole) return context.skip(reasons.join());
    let isBusy = true;
    const busy: typeof whole = (host, limits) => {
      const sandbox = whole(host, limits);
      const launch: typeof sandbox.launch = (program) => {
        if (isBusy) throw new OutOfTime('the machine is busy');
        return sandbox.launch(program);
      };
      return { ...sandbox, launch };
    };
    let now = 0;
    let look = (): void => undefined;
    await using bench = await openInterpreter({
      candidates: { sandboxes: [busy], reasons: [] },
      clock: { now: () => now, monotonic: () => now },
      every: (_ms, run) => {
        look = run;
        return () => undefined;
      },
    });
    const { interpreter } = bench;
    assert.match(bench.status.reason ?? '', /the machine is busy; it is tried again in 5 s$/);
    await assert.rejects(bench.open(), { kind: 'unsupported', message: /tried again in 5 s\.$/ });
    isBusy = false;
    now += CODE_TRIAL_PAUSES_MS[0];
    look();
    assert.match(interpreter.status().reason ?? '', /it is being tried again$/);
    // On a busy machine that one may take too long as well.
    for (const pauseMs of CODE_TRIAL_PAUSES_MS) {
      const { inForce, reason = '' } = await interpreter.prepare();
      if (inForce !== 'off') break;
      if (!/tried again/.test(reason)) return context.skip(reason);
      now += pauseMs;
    }
    assert.equal((await bench.runAlone('6 * 7')).value, '42');
  });

  test('one out of which a process slips that nobody ends is found out', async () => {
    const places = { childFolder: '/nowhere', pyodideFolder: '/nowhere' };
    // What slips out says itself that the loop has begun, after which all is killed.
    const slips = `echo '{"type":"begun","tried":"time"}'; exec sleep 60`;
    const args = ['-c', 'setsid /bin/sh -c "$0" & exec sleep 60', slips];
    const broke = await attackSandbox(
      { name: 'process', level: 'basic', launch: () => ({ command: '/bin/sh', args, places, env: {} }) },
      { memoryMb: 64, signal: forever },
    );
    assert.equal(broke, 'what runs in it cannot be ended');
  });

  for (const { name, says } of [
    { name: 'one that says nothing in time is neither held nor broken', says: '' },
    {
      name: 'one that takes memory until the time is over is neither held nor broken',
      says: `case "$order" in *'["memory"]'*) echo '{"type":"begun","tried":"memory"}';; *'["time"]'*) echo '{"type":"begun","tried":"time"}';; *) for tried in file environment writing processes; do echo '{"type":"begun","tried":"'$tried'"}'; echo '{"type":"tried","tried":"'$tried'"}'; done; exit;; esac;`,
    },
  ]) {
    test(name, async () => {
      const places = { childFolder: '/nowhere', pyodideFolder: '/nowhere' };
      const args = ['-c', `read -r order; ${says} exec sleep 60`];
      const attack = attackSandbox(
        { name: 'process', level: 'basic', launch: () => ({ command: '/bin/sh', args, places, env: {} }) },
        { memoryMb: 64, signal: forever, msMax: 1_000 },
      );
      await assert.rejects(attack, (error) => error instanceof OutOfTime && /longer than 1000 ms/.test(error.message));
    });
  }

  test('strict is never silently basic', async () => {
    const { sandboxes } = chooseSandboxes({ level: 'basic', driver: 'auto', image: '' });
    assert.equal(sandboxes.length, 1);
    await using bench = await openInterpreter({ candidates: { reasons: ['there is no bwrap'], sandboxes: [] } });
    assert.deepEqual([bench.status.asked, bench.status.inForce], ['strict', 'off']);
    assert.match(bench.status.reason ?? '', /there is no bwrap/);
  });
});

describe('other sandboxes', () => {
  test('bubblewrap holds where it is installed, and the interpreter is off where it is not', async () => {
    const { reasons } = chooseSandboxes({ level: 'strict', driver: 'bubblewrap', image: '' });
    await using bench = await openInterpreter({ driver: 'bubblewrap' });
    if (reasons.length > 0) {
      assert.equal(bench.status.inForce, 'off');
      return assert.match(bench.status.reason ?? '', /bwrap|bubblewrap/);
    }
    // It cannot give programs a user of their own, and the system bounds no processes of root's.
    if (process.getuid?.() === 0) return assert.match(bench.status.reason ?? '', /started \d+ processes/);
    assert.deepEqual([bench.status.inForce, bench.status.sandbox], ['strict', 'bubblewrap'], bench.status.reason);
    assert.equal((await bench.runAlone('6 * 7')).value, '42');
  });

  test('a container engine is called as it has to be, and what it started is ended by its name', async () => {
    await using plain = await openInterpreter({ level: 'off' });
    const bin = join(plain.folder, 'bin');
    const calls = join(plain.folder, 'calls');
    await mkdir(bin);
    await writeFile(join(bin, 'docker'), `#!/bin/sh\nexec '${process.execPath}' '${FAKE_DOCKER}' '${calls}' "$@"\n`, {
      mode: 0o755,
    });
    const system = { platform: 'linux', isRoot: false, env: { PATH: bin, SECRET: 'ours' } };
    const candidates = chooseSandboxes({ level: 'strict', driver: 'docker', image: 'own/node:24' }, system);
    assert.deepEqual(candidates.reasons, []);
    await using bench = await openInterpreter({ candidates });
    // The fake one contains nothing, which is found out; what it was called with is what is looked at.
    assert.equal(bench.status.inForce, 'off');
    assert.match(bench.status.reason ?? '', /docker: it does not contain/);
    // Nobody waits for the command that ends what a killed one had started.
    const called = await until('it was ended by its name', { withinMs: 30_000 }, async () => {
      const lines = (await readFile(calls, 'utf8')).split('\n').slice(0, -1);
      const read = lines.map((line) => JSON.parse(line) as string[]);
      return read.some(([verb]) => verb === 'kill') ? read : undefined;
    });
    const run = called.find(([verb]) => verb === 'run') ?? [];
    const name = run[run.indexOf('--name') + 1] ?? '';
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
    assert.ok(run.includes('own/node:24'));
    assert.ok(!run.join(' ').includes('ours'));
    assert.match(name, /^parley-code-[0-9a-f]{16}$/);
  });
});
