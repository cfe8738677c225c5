// Removal of the containers of an engine that is slow, fails, or whose command or service is killed. Real engines are tested
// in container-engines.test.ts. The table in docs/security.md names these tests.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../../../../../test/until.ts';
import { spawnInSandbox } from '../../sandboxed-process.ts';
import type { SandboxLaunch } from '../../sandboxes/sandbox.ts';

const resolvePath = (path: string): string => fileURLToPath(new URL(path, import.meta.url));
const ENGINE = resolvePath('./__fixtures__/fake-engine.sh');
const HOLDER = resolvePath('./__fixtures__/hold-container.ts');
const NAME = 'parley-code-1-0123456789abcdef';

describe('the guard of a container', () => {
  let folder: string;
  let launch: SandboxLaunch;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'parley-guard-'));
    prepareEngine({});
    launch = {
      command: ENGINE,
      args: ['run', NAME],
      paths: { childFolder: '/nowhere', pyodideFolder: '/nowhere' },
      env: { FAKE_ENGINE: folder, PATH: process.env['PATH'] ?? '' },
      container: { engine: ENGINE, name: NAME },
    };
  });
  afterEach(() => rmSync(folder, { recursive: true, maxRetries: 10 }));

  const prepareEngine = ({ delay = 0, failures = 0 }): void => {
    writeFileSync(join(folder, 'delay'), String(delay));
    writeFileSync(join(folder, 'failures'), 'fails\n'.repeat(failures));
    writeFileSync(join(folder, 'log'), '');
  };
  const readCalls = (): readonly string[] => readFileSync(join(folder, 'log'), 'utf8').split('\n').slice(0, -1);
  const isThere = (): boolean => existsSync(join(folder, `container-${NAME}`));
  const waitForCall = (call: string): Promise<unknown> =>
    until(`the engine was called: ${call}`, { timeoutMs: 20_000 }, async () => readCalls().includes(call) || undefined);

  test('removes a container again when that has failed, and reports its removal only then', async () => {
    prepareEngine({ failures: 2 });
    const { child, kill, removal } = spawnInSandbox(launch);
    await once(child.stdout, 'data');
    assert.ok(isThere());
    kill();
    await removal;
    assert.ok(!isThere());
    assert.equal(readCalls().filter((call) => call === 'rm').length, 3);
  });

  test('lets a command create its container before it is removed, and does not kill the command', async () => {
    prepareEngine({ delay: 0.1 });
    const { child, kill, removal } = spawnInSandbox(launch);
    await waitForCall('creating');
    const ended = once(child, 'exit');
    kill();
    await removal;
    assert.ok(readCalls().includes('created') && !isThere());
    assert.deepEqual(await ended, [137, null]);
  });

  test('removes a container that its engine creates after the command was killed', async () => {
    prepareEngine({ delay: 1 });
    const { child, removal } = spawnInSandbox(launch);
    await waitForCall('creating');
    process.kill(-(child.pid ?? assert.fail('the command did not start')), 'SIGKILL');
    await removal;
    assert.ok(readCalls().includes('created') && !isThere());
  });

  test('removes a container that was being created when the service was killed', async () => {
    prepareEngine({ delay: 0.5 });
    const service = spawn(process.execPath, [HOLDER, JSON.stringify(launch)], { stdio: 'ignore' });
    await waitForCall('creating');
    service.kill('SIGKILL');
    await waitForCall('created');
    await until('the container is removed', { timeoutMs: 20_000 }, async () => !isThere() || undefined);
  });
});
