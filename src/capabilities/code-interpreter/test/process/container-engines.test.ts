// Attacks on the sandbox of a real container engine: podman, and docker where its daemon runs. The other attacks of this
// folder run in it, too. The table in docs/security.md names these tests.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { text as readText } from 'node:stream/consumers';
import { after, before, describe, test, type TestContext } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../../../../test/until.ts';
import { attackSandbox } from '../../attack-sandbox.ts';
import { chooseSandboxes, LOCAL_SYSTEM } from '../../choose-sandboxes.ts';
import { SandboxTimeoutError } from '../../sandbox-timeout-error.ts';
import { spawnInSandbox, startSandboxedProcess } from '../../sandboxed-process.ts';
import type { HostPaths, SandboxLaunch } from '../../sandboxes/sandbox.ts';
import type { ContainerFindings } from './__fixtures__/probe-container.ts';
import { listEngineNames, openTestContainerEngine } from './__fixtures__/test-container-engine.ts';
import type { TestContainerEngine } from './__fixtures__/test-container-engine.ts';
import { openTestInterpreter } from './__fixtures__/test-interpreter.ts';

const resolvePath = (path: string): string => realpathSync(fileURLToPath(new URL(path, import.meta.url)));
const HOLDER = resolvePath('./__fixtures__/hold-container.ts');
const SECRET = 'a secret of the host';
const LIMITS = { memoryMb: 64, cpuSeconds: 60 };
/** Not a command of the interpreter; the probe looks for the word. */
const FLOOD = 'flood' as never;
const neverAborts = new AbortController().signal;

for (const name of listEngineNames()) {
  describe(`sandbox of ${name}`, () => {
    let engine: TestContainerEngine | string;
    let folder: string;
    let host: HostPaths;
    before(async () => {
      engine = await openTestContainerEngine(name);
      folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-engine-')));
      chmodSync(folder, 0o755);
      for (const each of ['child', 'wheels', 'root']) mkdirSync(join(folder, each));
      copyFileSync(resolvePath('./__fixtures__/probe-container.ts'), join(folder, 'child', 'attack.ts'));
      writeFileSync(join(folder, 'secret'), SECRET);
      symlinkSync(join(folder, 'secret'), join(folder, 'wheels', 'absolute'));
      symlinkSync('../secret', join(folder, 'wheels', 'relative'));
      symlinkSync(`/proc/1/root${folder}/secret`, join(folder, 'wheels', 'by-process'));
      host = {
        node: process.execPath,
        childFolder: join(folder, 'child'),
        packageFile: resolvePath('../../../../../package.json'),
        pyodideFolder: dirname(realpathSync(fileURLToPath(import.meta.resolve('pyodide/package.json')))),
        wheelsFolder: join(folder, 'wheels'),
        emptyFolder: join(folder, 'root'),
      };
    });
    after(() => rmSync(folder, { recursive: true }));

    /** Returns the engine, or skips the test where there is none. */
    const requireEngine = (context: TestContext): TestContainerEngine | undefined => {
      if (typeof engine !== 'string') return engine;
      context.skip(engine);
      return undefined;
    };
    /** Returns a launch of the probe, which has all of Node and no filter of system calls. */
    const launchProbe = ({ candidates }: TestContainerEngine): SandboxLaunch => {
      const [createSandbox] = candidates.sandboxes;
      assert.ok(createSandbox, candidates.reasons.join());
      return createSandbox(host, LIMITS).launch({ name: 'attack', usesPermissions: false, usesFilter: false });
    };
    const waitUntilRemoved = (existing: TestContainerEngine): Promise<unknown> =>
      until('its containers are removed', { timeoutMs: 20_000 }, async () =>
        (await existing.listContainers()).length > 0 ? undefined : true,
      );

    test('a native process in a container sees and writes nothing of the host, and has no privileges', async (context) => {
      const existing = requireEngine(context);
      if (!existing) return;
      const { child } = spawnInSandbox(launchProbe(existing));
      child.stdin.write('inspect\n');
      const [output, problems] = await Promise.all([readText(child.stdout), readText(child.stderr)]);
      assert.equal(problems, '');
      const { status, commands, environment, linked, ...found } = JSON.parse(output) as ContainerFindings;
      assert.deepEqual(found, { writable: [], sockets: [], blockDevices: [], interfaces: ['lo'], privileges: [] });
      for (const set of ['CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb'])
        assert.match(status[set] ?? '', /^0+$/, set);
      assert.deepEqual([status['NoNewPrivs'], status['Seccomp']], ['1', '2']);
      assert.match(status['Uid'] ?? '', /^65534\s/);
      assert.match(status['Groups'] ?? '', /^(65534 ?)?$/);
      // The init program and the probe.
      assert.ok(commands.length <= 2, commands.join());
      assert.ok(!environment.some((variable) => !['PATH', 'HOME', 'HOSTNAME', 'TERM', 'container'].includes(variable)));
      assert.ok(!linked.some((content) => content.includes(SECRET)), linked.join());
      await waitUntilRemoved(existing);
    });

    test('a process that floods its output is stopped, and its container removed', async (context) => {
      const existing = requireEngine(context);
      if (!existing) return;
      const flooding = startSandboxedProcess(launchProbe(existing), 1024 * 1024);
      flooding.send(FLOOD);
      assert.equal((await flooding.termination).killReason, 'output');
      await waitUntilRemoved(existing);
    });

    test('leaves no container of a command that was killed, at any time', async (context) => {
      const existing = requireEngine(context);
      if (!existing) return;
      const early = spawnInSandbox(launchProbe(existing));
      early.kill();
      const running = spawnInSandbox(launchProbe(existing));
      running.child.stdin.write('wait\n');
      await once(running.child.stdout, 'data');
      assert.equal((await existing.listContainers()).length, 1);
      running.child.kill('SIGKILL');
      await waitUntilRemoved(existing);
    });

    test('leaves no container of a killed service', async (context) => {
      const existing = requireEngine(context);
      if (!existing) return;
      const launch = JSON.stringify(launchProbe(existing));
      const service = spawn(process.execPath, [HOLDER, launch], { stdio: ['ignore', 'pipe', 'inherit'] });
      await once(service.stdout, 'data');
      assert.equal((await existing.listContainers()).length, 1);
      service.kill('SIGKILL');
      await waitUntilRemoved(existing);
    });

    test('names a missing image, and how to get it', async (context) => {
      const existing = requireEngine(context);
      if (!existing) return;
      const options = { level: 'strict', driver: name, image: 'localhost/parley-missing' } as const;
      const candidates = chooseSandboxes(options, { ...LOCAL_SYSTEM, env: existing.env });
      await using testInterpreter = await openTestInterpreter({ candidates });
      assert.equal(testInterpreter.status.effectiveLevel, 'off');
      assert.match(testInterpreter.status.reason ?? '', /localhost\/parley-missing.*Parley pulls no image; pull it/s);
    });
  });
}

test('gives no verdict on a container engine that hangs, and waits for it no longer than for others', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'parley-engine-'));
  try {
    writeFileSync(join(folder, 'podman'), '#!/bin/sh\nexec /bin/sleep 5\n', { mode: 0o755 });
    const options = { level: 'strict', driver: 'podman', image: 'image' } as const;
    const { sandboxes } = chooseSandboxes(options, { ...LOCAL_SYSTEM, env: { PATH: folder } });
    const [sandbox] = sandboxes.map((createSandbox) => createSandbox({ ...EMPTY_HOST, emptyFolder: folder }, LIMITS));
    assert.ok(sandbox);
    await assert.rejects(
      attackSandbox(sandbox, { memoryMb: 64, signal: neverAborts, msMax: 500 }),
      SandboxTimeoutError,
    );
  } finally {
    rmSync(folder, { recursive: true });
  }
});

const EMPTY_HOST: HostPaths = {
  node: '/nowhere',
  childFolder: '/nowhere',
  packageFile: '/nowhere',
  pyodideFolder: '/nowhere',
  emptyFolder: '/nowhere',
};
