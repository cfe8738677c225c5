import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer, type Socket } from 'node:net';
import { join } from 'node:path';
import { test } from 'node:test';
import { temporaryFolder } from './__fixtures__/temporary-folder.ts';
import { runPython } from './python.ts';

const skip = spawnSync('python3', ['--version']).status !== 0 && 'no python3';

/** Takes a connection and gives it to a child as well: it ends when both have ended. Neither ends by itself within the test. */
const SLOW_PIP = `
import os, socket, subprocess, sys, time
line = socket.create_connection(("127.0.0.1", int(os.environ["LINE_PORT"])))
os.set_inheritable(line.fileno(), True)
subprocess.Popen([sys.executable, "-c", "import time; time.sleep(120)"], close_fds=False)
line.sendall(" ".join(sys.argv[1:]).encode())
time.sleep(120)
`;

const PARENT = `
import { createPipFetch } from ${JSON.stringify(new URL('./wheel.ts', import.meta.url).href)};
const fetchWheel = createPipFetch({ python: 'python3', environment: process.env });
await fetchWheel({ package: 'w-part1', version: '1.0', member: 'm' }, process.cwd(), new AbortController().signal);
`;

test('a download ends with all it has started when the service is killed', { skip, timeout: 60_000 }, async (t) => {
  const folder = await temporaryFolder(t);
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
  const [said]: Buffer[] = await once(line, 'data');
  assert.match(String(said), /^download .* w-part1==1\.0$/);
  const ended = once(line, 'close');
  parent.kill('SIGKILL');
  await ended;
});

test('a program gets its arguments, and its status and last words come back', { skip }, async (t) => {
  const needs = { python: 'python3', environment: { PATH: process.env['PATH'] }, signal: t.signal };
  const program = 'import sys\nprint(*sys.argv[1:], file=sys.stderr)\nsys.exit(3)';
  assert.deepEqual(await runPython(program, ['a b', '-c'], needs), { status: 3, errorText: 'a b -c\n' });
});
