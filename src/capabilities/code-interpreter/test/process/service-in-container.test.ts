// Level `strict` where the service itself runs in a container: a real one of podman, with the programs of this machine.
import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { chmodSync, copyFileSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, describe, test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import type { CodeInterpreterStatus } from '../../code-interpreter.ts';
import { openTestContainerEngine } from './__fixtures__/test-container-engine.ts';
import type { TestContainerEngine } from './__fixtures__/test-container-engine.ts';

const ROOT = realpathSync(fileURLToPath(new URL('../../../../../', import.meta.url)));
const STATUS_PROGRAM = 'src/capabilities/code-interpreter/test/process/__fixtures__/print-sandbox-status.ts';

/** Folders of this machine with its programs. */
const SYSTEM_FOLDERS = ['/usr', '/bin', '/sbin', '/lib', '/lib64'];

/** Time limit of a start of the container and of the verification in it, in ms; a few seconds on an idle machine. */
const STATUS_MS_MAX = 150_000;

type Status = CodeInterpreterStatus & { readonly value?: string };

// Elsewhere, mounting the folders needs another engine.
const skip = process.getuid?.() !== 0 && 'needs root';

describe('level strict of a service in a container', { skip }, () => {
  let engine: TestContainerEngine | string;
  let folder: string;
  before(async () => {
    engine = await openTestContainerEngine('podman');
    folder = realpathSync(mkdtempSync(join(tmpdir(), 'parley-in-container-')));
    chmodSync(folder, 0o755);
    copyFileSync(process.execPath, join(folder, 'node'));
    chmodSync(join(folder, 'node'), 0o755);
    // Refuses one system call, as the usual profiles of containers do.
    const refusal = { names: ['unshare'], action: 'SCMP_ACT_ERRNO', errnoRet: 1 };
    writeFileSync(
      join(folder, 'refusal.json'),
      JSON.stringify({ defaultAction: 'SCMP_ACT_ALLOW', syscalls: [refusal] }),
    );
  });
  after(() => rmSync(folder, { recursive: true }));

  async function readStatus({ image, env }: TestContainerEngine, ...flags: readonly string[]): Promise<Status> {
    const mounts = [
      ...SYSTEM_FOLDERS.map((each) => `${each}:${each}:ro`),
      `${ROOT}:/parley:ro`,
      `${folder}:/runtime:ro`,
    ];
    // The engine may not raise the limits of this machine.
    const limits = ['--ulimit', 'nofile=1024:1024', '--ulimit', 'nproc=4096:4096'];
    const options = ['--rm', '--network', 'none', '--tmpfs', '/tmp:exec,mode=1777', ...limits, ...flags];
    const program = ['/runtime/node', '--disable-warning=ExperimentalWarning', `/parley/${STATUS_PROGRAM}`];
    const args = [
      'run',
      ...options,
      ...mounts.flatMap((mount) => ['--volume', mount]),
      image,
      ...program,
      'namespaces',
      '/tmp/interpreter',
    ];
    const { stdout } = await promisify(execFile)('podman', args, { env, timeout: STATUS_MS_MAX });
    return JSON.parse(stdout) as Status;
  }

  test('contains a program as an ordinary user', async (context) => {
    if (typeof engine === 'string') return context.skip(engine);
    const { effectiveLevel, sandbox, value, reason } = await readStatus(engine, '--user', '65534:65534');
    assert.deepEqual([effectiveLevel, sandbox, value], ['strict', 'namespaces', '42'], reason);
  });

  test('is off where the container forbids namespaces, and names the options that allow them', async (context) => {
    if (typeof engine === 'string') return context.skip(engine);
    const profile = `seccomp=${join(folder, 'refusal.json')}`;
    const { effectiveLevel, reason } = await readStatus(engine, '--user', '65534:65534', '--security-opt', profile);
    assert.equal(effectiveLevel, 'off');
    assert.match(reason ?? '', /the container around the service forbids namespaces; start it with `--security-opt/);
  });

  test('is off for root, and asks for another user', async (context) => {
    if (typeof engine === 'string') return context.skip(engine);
    const { effectiveLevel, reason } = await readStatus(engine);
    assert.equal(effectiveLevel, 'off');
    assert.match(reason ?? '', /run the service as another user \(`docker run --user`\)/);
  });
});
