import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { chooseSandboxes } from './choose-sandboxes.ts';
import { createBubblewrap } from './sandboxes/bubblewrap.ts';
import { createContainerEngine } from './sandboxes/container-engine.ts';
import { createNamespaces, NAMESPACE_TOOLS } from './sandboxes/namespaces.ts';
import { createProcessOnly } from './sandboxes/process-only.ts';
import type { HostPlaces, Launch } from './sandboxes/sandbox.ts';

const HOST: HostPlaces = {
  node: '/opt/node',
  childFolder: '/opt/parley/child',
  packageFile: '/opt/parley/package.json',
  pyodideFolder: '/opt/pyodide',
  snapshotFile: '/data/code/image',
  emptyFolder: '/data/code/root',
};
const LIMITS = { memoryMb: 100, cpuSeconds: 60 };
const PROGRAM = { name: 'main', isSealed: true } as const;
const tools = Object.fromEntries(NAMESPACE_TOOLS.map((name) => [name, `/usr/bin/${name}`])) as never;

/** Whether the words stand in the arguments in this order, side by side. */
const has = ({ args }: Launch, ...words: readonly string[]): boolean =>
  args.some((_, at) => words.every((word, offset) => args[at + offset] === word));

describe('what programs could be kept in', () => {
  const linux = { platform: 'linux', isRoot: false, env: { PATH: '/nowhere' } };

  test('strict has no candidate that is basic, and elsewhere than on Linux none but container engines', () => {
    const mac = chooseSandboxes({ level: 'strict', driver: 'auto', image: '' }, { ...linux, platform: 'darwin' });
    assert.deepEqual(mac.sandboxes, []);
    assert.match(mac.reasons.join(), /needs Linux; a container engine/);
    for (const make of chooseSandboxes({ level: 'strict', driver: 'auto', image: '' }, linux).sandboxes) {
      assert.equal(make(HOST, LIMITS).level, 'strict');
    }
  });

  test('a driver that is named is the only one, and its absence is told', () => {
    const { sandboxes, reasons } = chooseSandboxes(
      { level: 'strict', driver: 'podman', image: '' },
      { ...linux, env: {} },
    );
    assert.deepEqual([sandboxes.length, reasons], [0, ['there is no podman']]);
  });
});

describe('every sandbox', () => {
  const launches: Readonly<Record<string, Launch>> = {
    bubblewrap: createBubblewrap(HOST, LIMITS, { bwrap: '/usr/bin/bwrap', prlimit: '/usr/bin/prlimit' }, () => [
      '/lib/c.so',
    ]).launch(PROGRAM),
    'namespaces, as root': createNamespaces(HOST, LIMITS, tools, { libraries: ['/lib/c.so'], isRoot: true }).launch(
      PROGRAM,
    ),
    'namespaces, as anybody': createNamespaces(HOST, LIMITS, tools, { libraries: ['/lib/c.so'], isRoot: false }).launch(
      PROGRAM,
    ),
    process: createProcessOnly(HOST, LIMITS, { prlimit: '/usr/bin/prlimit', setpriv: '/usr/bin/setpriv' }).launch(
      PROGRAM,
    ),
    docker: createContainerEngine(HOST, LIMITS, {
      name: 'docker',
      command: '/usr/bin/docker',
      image: 'node',
      env: {},
    }).launch(PROGRAM),
  };

  for (const [name, launch] of Object.entries(launches)) {
    test(`${name}: has the runtime's permissions too, and nothing of our environment`, () => {
      assert.ok(launch.args.includes('--permission'), launch.args.join(' '));
      assert.ok(launch.args.includes('--disallow-code-generation-from-strings'));
      assert.ok(!launch.args.some((arg) => arg.startsWith('--allow-') && !arg.startsWith('--allow-fs-read=')));
      assert.deepEqual(launch.env, {});
    });
  }

  for (const [name, launch] of Object.entries(launches)) {
    if (name === 'process') continue;
    test(`${name}: sees no path of this machine but what it is given`, () => {
      const { args, places } = launch;
      const program = args.slice(args.findLastIndex((arg) => ['/node', 'node'].includes(arg)));
      assert.ok(!program.some((arg) => /\/opt|\/data/.test(arg)), program.join(' '));
      assert.deepEqual(
        Object.values(places).filter((path) => !path.startsWith('/app/')),
        [],
      );
    });
  }

  test('bubblewrap: no network, no root to write to, no new namespaces', () => {
    const { bubblewrap } = launches;
    assert.ok(bubblewrap);
    for (const flag of ['--unshare-all', '--die-with-parent', '--new-session', '--clearenv', '--disable-userns']) {
      assert.ok(bubblewrap.args.includes(flag), flag);
    }
    assert.ok(has(bubblewrap, '--remount-ro', '/'));
    assert.ok(has(bubblewrap, '--cap-drop', 'ALL'));
    assert.ok(!bubblewrap.args.includes('--bind'));
    assert.ok(bubblewrap.args.includes('--nproc=32'));
  });

  test('namespaces: a user of its own each time where the service is root', () => {
    const sandbox = createNamespaces(HOST, LIMITS, tools, { libraries: [], isRoot: true });
    const users = [1, 2].map(() => sandbox.launch(PROGRAM).args.find((arg) => arg.startsWith('--userspec=')));
    assert.notEqual(users[0], users[1]);
    assert.match(users[0] ?? '', /^--userspec=1\d{9}:1\d{9}$/);
  });
});
