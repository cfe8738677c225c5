import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseSandboxes, LOCAL_SYSTEM } from './choose-sandboxes.ts';
import { createBubblewrapSandbox } from './sandboxes/bubblewrap.ts';
import { createContainerSandbox } from './sandboxes/container-engine.ts';
import { createNamespaceSandbox, NAMESPACE_TOOLS } from './sandboxes/namespaces.ts';
import { createProcessSandbox } from './sandboxes/process-only.ts';
import type { HostPaths, SandboxLaunch } from './sandboxes/sandbox.ts';

const HOST: HostPaths = {
  node: '/opt/node',
  childFolder: '/opt/parley/child',
  packageFile: '/opt/parley/package.json',
  pyodideFolder: '/opt/pyodide',
  snapshotFile: '/data/code/image',
  emptyFolder: '/data/code/root',
  native: {
    launcher: '/data/code/native/launcher',
    unfilteredLauncher: '/data/code/native/unfiltered-launcher',
    attacks: '/data/code/native/attacks',
    keyringReader: '/data/code/native/keyring-reader',
  },
};
const LIMITS = { memoryMb: 100, cpuSeconds: 60 };
const PROGRAM = { name: 'main', usesPermissions: true, usesFilter: true } as const;
const TOOLS = Object.fromEntries(NAMESPACE_TOOLS.map((name) => [name, `/usr/bin/${name}`])) as never;

/** Whether the arguments contain the words consecutively. */
const hasArguments = ({ args }: SandboxLaunch, ...words: readonly string[]): boolean =>
  args.some((_, at) => words.every((word, offset) => args[at + offset] === word));

describe('chooseSandboxes', () => {
  const linux = {
    ...LOCAL_SYSTEM,
    platform: 'linux',
    isRoot: false,
    env: { PATH: '/nowhere' },
    findCgroupParent: () => 'none here',
  };

  test('offers no basic sandbox for strict, and only container engines on other systems than Linux', () => {
    const mac = chooseSandboxes({ level: 'strict', driver: 'auto', image: '' }, { ...linux, platform: 'darwin' });
    assert.deepEqual(mac.sandboxes, []);
    assert.match(mac.reasons.join(), /requires Linux; on other systems, configure a container engine/);
    for (const make of chooseSandboxes({ level: 'strict', driver: 'auto', image: '' }, linux).sandboxes) {
      assert.equal(make(HOST, LIMITS).level, 'strict');
    }
  });

  test('offers only a configured driver, and reports why it cannot be used', () => {
    const { sandboxes, reasons } = chooseSandboxes(
      { level: 'strict', driver: 'bubblewrap', image: '' },
      { ...linux, platform: 'darwin' },
    );
    assert.deepEqual(
      [sandboxes.length, reasons],
      [0, ['bubblewrap requires Linux; on other systems, configure a container engine as driver']],
    );
    const withoutEngine = { ...linux, findTool: () => undefined };
    assert.deepEqual(chooseSandboxes({ level: 'strict', driver: 'podman', image: 'image' }, withoutEngine), {
      sandboxes: [],
      reasons: ['there is no podman'],
    });
  });
});

describe('sandbox launch commands', () => {
  const launches: Readonly<Record<string, SandboxLaunch>> = {
    bubblewrap: createBubblewrapSandbox(HOST, LIMITS, { bwrap: '/usr/bin/bwrap', prlimit: '/usr/bin/prlimit' }, () => [
      '/lib/c.so',
    ]).launch(PROGRAM),
    'namespaces, as root': createNamespaceSandbox(HOST, LIMITS, TOOLS, {
      libraries: ['/lib/c.so'],
      isRoot: true,
    }).launch(PROGRAM),
    'namespaces, as anybody': createNamespaceSandbox(HOST, LIMITS, TOOLS, {
      libraries: ['/lib/c.so'],
      isRoot: false,
    }).launch(PROGRAM),
    process: createProcessSandbox(HOST, LIMITS, { prlimit: '/usr/bin/prlimit', setpriv: '/usr/bin/setpriv' }).launch(
      PROGRAM,
    ),
    docker: createContainerSandbox(HOST, LIMITS, {
      name: 'docker',
      command: '/usr/bin/docker',
      image: 'node',
      env: {},
    }).launch(PROGRAM),
  };

  for (const [name, launch] of Object.entries(launches)) {
    test(`${name}: enables Node's permissions and passes no variable of the environment`, () => {
      assert.ok(launch.args.includes('--permission'), launch.args.join(' '));
      assert.ok(launch.args.includes('--disallow-code-generation-from-strings'));
      assert.ok(!launch.args.some((arg) => arg.startsWith('--allow-') && !arg.startsWith('--allow-fs-read=')));
      assert.deepEqual(launch.env, {});
    });
  }

  for (const [name, launch] of Object.entries(launches)) {
    if (name === 'process') continue;
    test(`${name}: passes no path of this machine to the program`, () => {
      const { args, paths } = launch;
      const program = args.slice(args.findLastIndex((arg) => ['/node', 'node'].includes(arg)));
      assert.ok(!program.some((arg) => /\/opt|\/data/.test(arg)), program.join(' '));
      assert.deepEqual(
        Object.values(paths).filter((path) => !path.startsWith('/app/')),
        [],
      );
    });
  }

  for (const [name, { args }] of Object.entries(launches)) {
    test(`${name}: starts the runtime by the launcher with the filter of system calls`, () => {
      const launcher = name === 'process' ? '/data/code/native/launcher' : '/app/launcher';
      const runtime = { process: '/opt/node', docker: 'node' }[name] ?? '/node';
      assert.ok(args.lastIndexOf(launcher) < args.lastIndexOf(runtime), args.join(' '));
      assert.ok(args.some((arg) => arg.includes('/data/code/native/launcher')));
      assert.ok(!args.some((arg) => arg.includes('unfiltered')));
    });
  }

  test('bubblewrap: disables network, writing to the root, and new namespaces', () => {
    const { bubblewrap } = launches;
    assert.ok(bubblewrap);
    for (const flag of ['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--disable-userns']) {
      assert.ok(bubblewrap.args.includes(flag), flag);
    }
    assert.ok(hasArguments(bubblewrap, '--remount-ro', '/'));
    assert.ok(hasArguments(bubblewrap, '--cap-drop', 'ALL'));
    assert.ok(!bubblewrap.args.includes('--bind'));
    assert.ok(bubblewrap.args.includes('--nproc=32'));
  });

  test('namespaces: uses a new user id for each launch as root', () => {
    const sandbox = createNamespaceSandbox(HOST, LIMITS, TOOLS, { libraries: [], isRoot: true });
    const users = [1, 2].map(() => sandbox.launch(PROGRAM).args.find((arg) => arg.startsWith('--userspec=')));
    assert.notEqual(users[0], users[1]);
    assert.match(users[0] ?? '', /^--userspec=1\d{9}:1\d{9}$/);
  });
});
