import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { createTemporaryFolder } from './__fixtures__/temporary-folder.ts';
import { runPython } from './run-python.ts';

const skip = spawnSync('python3', ['--version']).status !== 0 && 'no python3';

/**
 * Opens a connection and shares it with a child process: it closes when both have ended. Neither ends within the test.
 */
const SLOW_PIP = `
import os, socket, subprocess, sys, time
line = socket.create_connection(("127.0.0.1", int(os.environ["LINE_PORT"])))
os.set_inheritable(line.fileno(), True)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], close_fds=False)
line.sendall(" ".join(sys.argv[1:]).encode())
time.sleep(120)
`;

const PARENT = `
import { createPipWheelFetcher } from ${JSON.stringify(new URL('./wheel.ts', import.meta.url).href)};
const fetchWheel = createPipWheelFetcher({ python: 'python3', environment: process.env });
await fetchWheel({ package: 'w-part1', version: '1.0', member: 'm' }, process.cwd(), new AbortController().signal);
`;

test('stops a download and all its processes when the service is killed', { skip, timeout: 60_000 }, async (t) => {
  const folder = await createTemporaryFolder(t);
  await mkdir(join(folder, 'pip'));
  await writeFile(join(folder, 'pip', '__init__.py'), '');
  await writeFile(join(folder, 'pip', '__main__.py'), SLOW_PIP);
  const server = createServer().listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const address = server.address();
  assert.ok(typeof address === 'object' && address);

  const args = ['--disable-warning=ExperimentalWarning', '--input-type=module-typescript', '-e', PARENT];
  const parent = spawn(process.execPath, args, {
    cwd: folder,
    stdio: 'ignore',
    env: { PATH: process.env['PATH'], PYTHONPATH: folder, LINE_PORT: String(address.port) },
  });
  t.after(() => parent.kill('SIGKILL'));
  const [line]: Socket[] = await once(server, 'connection');
  assert.ok(line);
  const [received]: Buffer[] = await once(line, 'data');
  assert.match(String(received), /^download .* w-part1==1\.0$/);
  const closed = once(line, 'close');
  parent.kill('SIGKILL');
  await closed;
});

test('passes arguments to a program and returns its status and its standard error', { skip }, async (t) => {
  const options = { python: 'python3', environment: { PATH: process.env['PATH'] }, signal: t.signal };
  const program = 'import sys\nprint(*sys.argv[1:], file=sys.stderr)\nsys.exit(3)';
  assert.deepEqual(await runPython(program, ['a b', '-c'], options), { status: 3, errorText: 'a b -c\n' });
});
