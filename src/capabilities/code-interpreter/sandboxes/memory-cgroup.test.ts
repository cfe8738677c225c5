import assert from 'node:assert/strict';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { addMemoryCgroup, findCgroupParent } from './memory-cgroup.ts';
import type { CgroupFiles } from './memory-cgroup.ts';
import type { Sandbox } from './sandbox.ts';

describe('memory cgroups', () => {
  let mount: string;
  let entered: string[];
  let files: CgroupFiles;
  beforeEach(() => {
    mount = mkdtempSync(join(tmpdir(), 'parley-cgroup-'));
    entered = [];
    files = {
      membership: join(mount, 'membership'),
      mount,
      canEnter: (folder) => entered.push(folder) > 0,
      // The files of a real cgroup vanish with it.
      remove: (folder) => rmSync(folder, { recursive: true }),
    };
  });
  afterEach(() => rmSync(mount, { recursive: true }));

  /** Creates a cgroup of version 2. */
  const createCgroup = (path: string, controllers: string): void => {
    mkdirSync(join(mount, path), { recursive: true });
    writeFileSync(join(mount, path, 'cgroup.procs'), '');
    writeFileSync(join(mount, path, 'cgroup.controllers'), 'cpu memory pids\n');
    writeFileSync(join(mount, path, 'cgroup.subtree_control'), controllers);
  };
  const setMembership = (lines: string): void => writeFileSync(files.membership, lines);

  test('of version 2 are created beside the one of the service, because one with processes cannot limit others', () => {
    createCgroup('', 'memory');
    createCgroup('system.slice', 'cpu memory');
    createCgroup('system.slice/parley.service', '');
    setMembership('0::/system.slice/parley.service\n');
    assert.deepEqual(findCgroupParent(files), { folder: join(mount, 'system.slice'), version: 2 });
    assert.deepEqual(entered.length, 1);
    assert.deepEqual(
      readdirSync(join(mount, 'system.slice')).filter((name) => name.startsWith('parley-code-')),
      [],
    );
  });

  test('of version 2 get their controller in a cgroup that the service manager has delegated', () => {
    createCgroup('', 'memory');
    createCgroup('parley.service', '');
    createCgroup('parley.service/main', '');
    setMembership('0::/parley.service/main\n');
    assert.deepEqual(findCgroupParent(files), { folder: join(mount, 'parley.service'), version: 2 });
    assert.equal(readFileSync(join(mount, 'parley.service/cgroup.subtree_control'), 'utf8'), '+memory');
  });

  test('of version 1 are created below the one of the service', () => {
    mkdirSync(join(mount, 'memory/parley'), { recursive: true });
    setMembership('4:memory:/parley\n3:cpu,cpuacct:/\n0::/\n');
    assert.deepEqual(findCgroupParent(files), { folder: join(mount, 'memory/parley'), version: 1 });
  });

  test('are not used where processes cannot enter them, and the reason names the fix', () => {
    createCgroup('', 'memory');
    createCgroup('parley.service', '');
    setMembership('0::/parley.service\n');
    const reason = findCgroupParent({ ...files, canEnter: () => false });
    assert.ok(typeof reason === 'string');
    assert.match(reason, /may not create a memory cgroup: .*Delegate=yes and DelegateSubgroup=main/);
    assert.deepEqual(
      readdirSync(mount).filter((name) => name.startsWith('parley-code-')),
      [],
    );
  });

  test('do not exist on a system without them', () => {
    assert.equal(findCgroupParent(files), 'this system has no memory cgroups');
  });

  test('that a killed service has left are removed', () => {
    createCgroup('', 'memory');
    createCgroup('parley.service', '');
    setMembership('0::/parley.service\n');
    // Above the highest process id of Linux.
    const abandoned = join(mount, 'parley-code-4194305-1');
    const used = join(mount, `parley-code-${process.pid}-1`);
    for (const folder of [abandoned, used]) mkdirSync(folder);
    findCgroupParent(files);
    assert.deepEqual([existsSync(abandoned), existsSync(used)], [false, true]);
  });

  test('limit the memory of each launch, and are removed after its end', () => {
    const sandbox: Sandbox = {
      name: 'namespaces',
      level: 'strict',
      hasMemoryCgroup: false,
      launch: ({ name }) => ({
        command: '/bin/start',
        args: [name],
        paths: { childFolder: '', pyodideFolder: '' },
        env: {},
      }),
    };
    const limited = addMemoryCgroup(sandbox, { folder: mount, version: 2 }, { memoryMb: 104, cpuSeconds: 1 });
    assert.equal(limited.hasMemoryCgroup, true);
    const launch = limited.launch({ name: 'main', usesPermissions: true, usesFilter: true });
    const [folder = ''] = readdirSync(mount).map((name) => join(mount, name));
    const settings = Object.fromEntries(
      readdirSync(folder).map((name) => [name, readFileSync(join(folder, name), 'utf8')]),
    );
    assert.deepEqual(settings, {
      'memory.max': `${1_000 * 2 ** 20}`,
      'memory.oom.group': '1',
      'memory.swap.max': '0',
      'pids.max': '40',
    });
    assert.deepEqual(launch.args.slice(-3), [join(folder, 'cgroup.procs'), '/bin/start', 'main']);
    for (const name of readdirSync(folder)) rmSync(join(folder, name));
    launch.release?.();
    launch.release?.();
    assert.equal(existsSync(folder), false);
  });
});
