import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { fileURLToPath } from 'node:url';
import { until } from '../until.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

// A terminal sends SIGINT to all processes in the foreground; a supervisor sends SIGTERM to the one that it started.
for (const [signal, receiver] of [
  ['SIGTERM', 'npm'],
  ['SIGINT', 'the process group'],
] as const) {
  test(`stops the service of npm start when ${receiver} receives ${signal}`, async () => {
    const data = mkdtempSync(join(tmpdir(), 'parley-npm-'));
    const npm = spawn('npm', ['start', '--silent', '--', '--port', '0', '--data', data], {
      cwd: root,
      env: { ...process.env, PARLEY_ENGINE_KIND: 'scripted', PARLEY_HUB_URL: 'off' },
      detached: true,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    let output = '';
    npm.stdout.on('data', (chunk: Buffer) => (output += chunk.toString()));
    try {
      const url = await until('npm start prints its address', { timeoutMs: 60_000 }, async () => {
        const [, address] = /Listening on (http:\S+)/.exec(output) ?? [];
        return address;
      });
      const ended = once(npm.stdout, 'end');
      assert.ok(npm.pid);
      process.kill(receiver === 'npm' ? npm.pid : -npm.pid, signal);
      // The output ends only after all processes that inherited it ended: npm, its shell, and the service.
      await ended;
      await assert.rejects(fetch(url), TypeError);
    } finally {
      npm.kill();
      rmSync(data, { recursive: true, force: true });
    }
  });
}
