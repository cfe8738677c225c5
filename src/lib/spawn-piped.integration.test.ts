import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { platform } from 'node:os';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { spawnPiped } from './spawn-piped.ts';

test('starts a process with pipes', async () => {
  const child = spawnPiped('cat', [], {});
  child.stdin.end('text');
  assert.deepEqual(await child.stdout.setEncoding('utf8').toArray(), ['text']);
});

test('reports as an event that no file descriptor is free', { skip: platform() === 'win32' }, async () => {
  const script = `
    import { openSync } from 'node:fs';
    import { spawnPiped } from ${JSON.stringify(new URL('spawn-piped.ts', import.meta.url).href)};
    try { for (;;) openSync('/dev/null'); } catch {}
    const child = spawnPiped('cat', [], {});
    child.once('error', ({ code }) => { process.exitCode = code === 'EMFILE' ? 7 : 1; });
    child.stdin.end('text');
    child.stdout.resume();`;
  const node = [process.execPath, '--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', script];
  const shell = promisify(execFile)('/bin/sh', ['-c', 'ulimit -n 64 && exec "$@"', 'sh', ...node]);
  await assert.rejects(shell, { code: 7 });
});
