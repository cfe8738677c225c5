// Native programs that try what only the kernel can refuse. They show what an attacker reaches who has broken out of the
// runtime. The table in docs/security.md names these tests.
import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { chmodSync, mkdtempSync, readdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { after, before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../../../../test/until.ts';
import { attackNatively } from '../../attack-natively.ts';
import type { NativeAttackOutcome } from '../../attack-natively.ts';
import { chooseSandboxes } from '../../choose-sandboxes.ts';
import type { SandboxFactory } from '../../choose-sandboxes.ts';
import { assembleProgram } from '../../native/assemble-program.ts';
import type { NativeCall, Operand } from '../../native/assemble-program.ts';
import { decodeKeyring, encodeNativeInput, findNativeBreaches } from '../../native/native-attacks.ts';
import { ensureNativePrograms, readSessionKeyring } from '../../native/native-programs.ts';
import type { NativePrograms } from '../../native/native-programs.ts';
import { getProcessor } from '../../native/system-calls.ts';
import type { SystemCall } from '../../native/system-calls.ts';
import { spawnInSandbox } from '../../sandboxed-process.ts';
import { findCgroupParent } from '../../sandboxes/memory-cgroup.ts';
import { NATIVE_ATTACKS_MB } from '../../sandboxes/sandbox.ts';
import type { HostPaths, Sandbox } from '../../sandboxes/sandbox.ts';
import { listEngineNames, openTestContainerEngine } from './__fixtures__/test-container-engine.ts';

const processor = getProcessor();
const LIMITS = { memoryMb: 64, cpuSeconds: 60 };
const MIB = 2 ** 20;
const neverAborts = new AbortController().signal;

/** Returns a program that makes one call and writes its result. */
const assembleCall = (name: SystemCall, ...args: readonly Operand[]): Buffer =>
  assembleCalls([{ name, args, result: 0 }]);

const assembleCalls = (calls: readonly NativeCall[]): Buffer => {
  assert.ok(processor);
  return assembleProgram([...calls, { name: 'write', args: [1, { variableAddress: 0 }, 256] }], processor);
};

const text = (value: string): Operand => ({ data: Buffer.from(`${value}\0`) });

const SECRET = randomBytes(16).toString('hex');
const KEY_NAME = `parley-test-${randomBytes(6).toString('hex')}`;
const SESSION_KEYRING = -3;

/** Writes the error of one call, as the attacks do where the system forbids keyctl. */
const assembleErrorWriter = (): Buffer => {
  assert.ok(processor);
  const write: NativeCall = { name: 'write', args: [1, { variableAddress: 0 }, 8] };
  return assembleProgram([{ name: 'close', args: [-1], result: 0 }, write], processor);
};

/** Executes its arguments with a session keyring that contains a key, as a service may have been started. */
const assembleKeyringLauncher = (): Buffer =>
  assembleExecutor([
    // KEYCTL_JOIN_SESSION_KEYRING, and KEYCTL_SETPERM so that later processes find the keyring by its name.
    { name: 'keyctl', args: [1, text(KEY_NAME)] },
    { name: 'keyctl', args: [5, SESSION_KEYRING, 0x3f3f_0000] },
    { name: 'add_key', args: [text('user'), text(KEY_NAME), text(SECRET), SECRET.length, SESSION_KEYRING] },
  ]);

/** Makes some calls, and executes its arguments. */
const assembleExecutor = (calls: readonly NativeCall[]): Buffer => {
  assert.ok(processor);
  return assembleProgram([...calls, { name: 'execve', args: ['programArgument', 'programArguments', 0] }], processor);
};

/** Finds the key by its name and writes its content. */
const readKey = (): Buffer =>
  assembleCalls([
    { name: 'keyctl', args: [10, SESSION_KEYRING, text('user'), text(KEY_NAME), 0], result: 64 },
    { name: 'keyctl', args: [11, { variable: 64 }, { variableAddress: 0 }, 256] },
  ]);

interface Attack {
  readonly name: string;
  readonly program: () => Buffer;
  /** Name of the same attack in the self-test, if it has it. */
  readonly breach?: RegExp;
  /** Whether the output of the program shows a success. Default: its call returned no error. */
  readonly hasSucceeded?: (output: Buffer) => boolean;
}

const returnedNoError = (output: Buffer): boolean => output.length >= 8 && output.readBigInt64LE() >= 0n;

const ATTACKS: readonly Attack[] = [
  {
    name: 'a native program reads no key of the session keyring of the service',
    breach: /^read the service's session keyring/,
    program: readKey,
    hasSucceeded: (output) => output.includes(SECRET),
  },
  {
    name: 'a native program opens no io_uring',
    breach: /io_uring/,
    program: () => assembleCall('io_uring_setup', 1, { variableAddress: 8 }),
  },
  {
    name: 'a native program opens no userfaultfd',
    breach: /userfaultfd/,
    program: () => assembleCall('userfaultfd', 0x8_0001),
  },
  {
    name: 'a native program opens no socket to the hypervisor',
    breach: /AF_VSOCK/,
    program: () => assembleCall('socket', 40, 1, 0),
  },
  {
    name: 'a native program creates no file in memory',
    breach: /memfd_create/,
    program: () => assembleCall('memfd_create', text('attack'), 0),
  },
  {
    name: 'a native program takes no 3 GB of shared memory',
    breach: /shared memory/,
    program: () => assembleCall('mmap', 0, 3 * 2 ** 30, 3, 0x21, -1, 0),
  },
  { name: 'a native program starts no process', program: () => assembleCall('clone', 17, 0, 0, 0, 0) },
];

describe('native programs', { skip: processor === undefined && `no native programs for ${process.arch}` }, () => {
  let folder: string;
  let native: NativePrograms;
  let host: HostPaths;
  let keyringLauncher: string;
  let keyringHolder: ChildProcess;
  before(async () => {
    assert.ok(processor);
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-native-')));
    chmodSync(folder, 0o755);
    native = await ensureNativePrograms(join(folder, 'native'), processor);
    const resolvePath = (path: string): string => realpathSync(fileURLToPath(new URL(path, import.meta.url)));
    host = {
      node: realpathSync(process.execPath),
      childFolder: resolvePath('../../child'),
      packageFile: resolvePath('../../../../../package.json'),
      pyodideFolder: dirname(realpathSync(fileURLToPath(import.meta.resolve('pyodide/package.json')))),
      emptyFolder: mkdtempSync(join(folder, 'root-')),
      native,
    };
    keyringLauncher = writeProgram(assembleKeyringLauncher());
    keyringHolder = spawn(keyringLauncher, ['/bin/sleep', '600'], { stdio: 'ignore' });
  });
  after(() => {
    keyringHolder.kill();
    rmSync(folder, { recursive: true });
  });

  const writeProgram = (content: Buffer): string => {
    const path = join(folder, randomBytes(6).toString('hex'));
    writeFileSync(path, content, { mode: 0o755 });
    return path;
  };
  /** Runs a program without any sandbox, as the service's user and with its keyring. */
  const runOutside = (path: string): Buffer => spawnSync(keyringLauncher, [path], { cwd: '/' }).stdout;
  /** Gives the processes that start a sandbox the keyring of the service. */
  const addServiceKeyring = (sandbox: Sandbox): Sandbox => ({
    ...sandbox,
    launch(program) {
      const launch = sandbox.launch(program);
      // The program that adds the keyring passes no environment on.
      const env = Object.entries(launch.env).map(([name, value]) => `${name}=${value}`);
      return { ...launch, command: keyringLauncher, args: ['/usr/bin/env', ...env, launch.command, ...launch.args] };
    },
  });
  const runInside = async (sandbox: Sandbox, usesFilter: boolean): Promise<{ output: Buffer; stderr: string }> => {
    const { child } = spawnInSandbox(sandbox.launch({ name: 'native-attacks', usesFilter }));
    const pieces: Buffer[] = [];
    let stderr = '';
    child.stdout.on('data', (piece: Buffer) => pieces.push(piece));
    child.stderr.on('data', (piece: Buffer) => (stderr += String(piece)));
    child.stdin.end();
    await new Promise((resolve) => child.once('close', resolve));
    return { output: Buffer.concat(pieces), stderr };
  };

  for (const [level, driver] of [
    ['strict', 'namespaces'],
    ['strict', 'bubblewrap'],
    ['basic', 'auto'],
    ...listEngineNames().map((name) => ['strict', name] as const),
  ] as const) {
    describe(`at level ${level}, ${driver === 'auto' ? 'without a sandbox of the system' : driver}`, () => {
      let reasons: readonly string[] = [];
      let createSandbox: SandboxFactory | undefined;
      before(async () => {
        const engine = driver === 'podman' || driver === 'docker' ? await openTestContainerEngine(driver) : undefined;
        const candidates =
          typeof engine === 'object' ? engine.candidates : chooseSandboxes({ level, driver, image: '' });
        reasons = typeof engine === 'string' ? [engine] : candidates.reasons;
        [createSandbox] = candidates.sandboxes;
      });

      let startProblem: Promise<string | undefined> | undefined;
      /** Returns why no process starts in the sandbox, undefined if one does. */
      const findStartProblem = async (create: SandboxFactory): Promise<string | undefined> => {
        const harmless = writeProgram(assembleCall('getpid'));
        const sandbox = create({ ...host, native: { ...native, attacks: harmless } }, LIMITS);
        const { output, stderr } = await runInside(sandbox, true);
        return returnedNoError(output) ? undefined : `no process starts: ${stderr}`;
      };
      /** Creates the sandbox, in which the attacking programs are replaced by another one. Skips where it fails. */
      const prepare = async (context: TestContext, program: Buffer): Promise<Sandbox | undefined> => {
        const problem = createSandbox ? await (startProblem ??= findStartProblem(createSandbox)) : reasons.join();
        if (!createSandbox || problem !== undefined) {
          context.skip(problem);
          return undefined;
        }
        const attacks = writeProgram(program);
        return addServiceKeyring(createSandbox({ ...host, native: { ...native, attacks } }, LIMITS));
      };

      for (const { name, program, hasSucceeded = returnedNoError } of ATTACKS) {
        test(name, async (context) => {
          const content = program();
          const sandbox = await prepare(context, content);
          if (!sandbox) return;
          if (!hasSucceeded(runOutside(writeProgram(content))))
            return context.skip('it does not succeed outside of a sandbox either');
          const { output, stderr } = await runInside(sandbox, true);
          assert.ok(!hasSucceeded(output), output.toString('hex'));
          // The program ran to its end.
          assert.equal(output.length, 256, stderr);
        });
      }

      test('a native program has a new session keyring, also without the filter of system calls', async (context) => {
        const content = readKey();
        const sandbox = await prepare(context, content);
        if (!sandbox) return;
        if (!runOutside(writeProgram(content)).includes(SECRET))
          return context.skip('there are no keyrings on this machine');
        const { output } = await runInside(sandbox, false);
        assert.ok(!output.includes(SECRET));
      });

      test('the self-test passes, and detects a missing layer', async (context) => {
        const sandbox = await prepare(context, assembleCall('getpid'));
        const create = createSandbox;
        if (!sandbox || !create) return;
        const keyring = decodeKeyring(runOutside(native.keyringReader));
        const attack = (launchers: Partial<NativePrograms>): Promise<NativeAttackOutcome> =>
          attackNatively(addServiceKeyring(create({ ...host, native: { ...native, ...launchers } }, LIMITS)), {
            keyring,
            signal: neverAborts,
          });
        const outcome = await attack({});
        assert.ok(outcome.breach === undefined, outcome.breach);
        // docker forbids keyctl in containers.
        assert.equal(outcome.hasSessionKeyring, keyring !== 0n && driver !== 'docker');
        const withoutKeyring = await attack({ attacks: writeProgram(assembleErrorWriter()) });
        assert.ok(withoutKeyring.breach === undefined && !withoutKeyring.hasSessionKeyring);
        assert.match((await attack({ launcher: native.unfilteredLauncher })).breach ?? '', /a native program, which/);
        // Container engines give each container a keyring of its own.
        if (keyring === 0n || driver === 'podman' || driver === 'docker') return;
        const inherited = await attack({ unfilteredLauncher: writeProgram(assembleExecutor([])) });
        assert.match(inherited.breach ?? '', /which has the service's session keyring/);
      });
    });
  }

  test('the attacks of the self-test succeed where nothing stops them', () => {
    const keyring = decodeKeyring(runOutside(native.keyringReader));
    const input = { keyring, sharedBytes: 3 * 2 ** 30, usesMemory: false };
    const { stdout } = spawnSync(keyringLauncher, [native.attacks], { input: encodeNativeInput(input), cwd: '/' });
    const breaches = findNativeBreaches(stdout, input).map(({ name }) => name);
    for (const { breach, program, hasSucceeded = returnedNoError } of ATTACKS) {
      if (breach && hasSucceeded(runOutside(writeProgram(program()))))
        assert.ok(
          breaches.some((name) => breach.test(name)),
          `${breach}: ${breaches.join(', ')}`,
        );
    }
    if (keyring !== 0n) assert.ok(breaches.includes("has the service's session keyring"), breaches.join(', '));
  });

  test('a memory cgroup bounds shared memory, and is removed', async (context) => {
    const parent = findCgroupParent();
    if (typeof parent === 'string') return context.skip(parent);
    const { sandboxes } = chooseSandboxes({ level: 'basic', driver: 'auto', image: '' });
    const [createSandbox] = sandboxes;
    assert.ok(createSandbox);
    const take = (bytes: number): Buffer => assembleCall('mmap', 0, bytes, 3, 0x8021, -1, 0);
    const createWith = (program: Buffer): Sandbox =>
      createSandbox({ ...host, native: { ...native, attacks: writeProgram(program) } }, LIMITS);
    const sandbox = createWith(take(2 * NATIVE_ATTACKS_MB * MIB));
    assert.ok(sandbox.hasMemoryCgroup);
    assert.equal((await runInside(sandbox, false)).output.length, 0, 'killed beyond the limit');
    assert.ok(returnedNoError((await runInside(createWith(take((NATIVE_ATTACKS_MB / 2) * MIB)), false)).output));
    await until('the cgroups are removed', { timeoutMs: 10_000 }, async () =>
      readdirSync(parent.folder).some((name) => name.startsWith(`parley-code-${process.pid}-`)) ? undefined : true,
    );
  });

  test('the launcher executes nothing if the program is missing, and says so', () => {
    for (const path of [native.launcher, native.unfilteredLauncher]) {
      const { status, stderr } = spawnSync(path, ['/nonexistent'], { encoding: 'utf8' });
      assert.deepEqual([status, stderr], [1, 'the program cannot be executed\n']);
    }
  });

  test('a program behind the launcher has neither new privileges nor an environment', () => {
    const show = spawnSync(native.unfilteredLauncher, ['/bin/sh', '-c', 'cat /proc/self/status; env'], {
      encoding: 'utf8',
      env: { SECRET: 'parley-secret' },
    });
    assert.match(show.stdout, /^NoNewPrivs:\s+1$/m);
    assert.doesNotMatch(show.stdout, /parley-secret/);
    const filtered = spawnSync(
      native.launcher,
      [process.execPath, '-p', 'fs.readFileSync("/proc/self/status", "utf8")'],
      {
        encoding: 'utf8',
      },
    );
    assert.match(filtered.stdout, /^Seccomp:\s+2$/m, filtered.stderr);
  });

  test('a folder in which programs cannot be executed is reported with the fix', async () => {
    const keyringReader = join(folder, 'not-executable');
    writeFileSync(keyringReader, readFileSync(native.keyringReader), { mode: 0o444 });
    await assert.rejects(readSessionKeyring({ ...native, keyringReader }), /noexec; mount it with exec, or set data/);
    assert.ok((await readSessionKeyring(native)) >= 0n);
  });

  test('native programs are written once, and again if somebody has changed them', async () => {
    assert.ok(processor);
    const path = native.launcher;
    const content = readFileSync(path);
    chmodSync(path, 0o755);
    writeFileSync(path, 'changed');
    assert.deepEqual(await ensureNativePrograms(join(folder, 'native'), processor), native);
    assert.deepEqual(readFileSync(path), content);
  });
});
