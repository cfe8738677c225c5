// Runs a TypeScript file of this project under Node >= 24, whatever `node` the caller has.
// Plain JavaScript without imports that an old Node lacks: this file itself runs under Node 20.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { constants } from 'node:os';
import { join } from 'node:path';

const NODE_MAJOR_MIN = 24;
const root = fileURLToPath(new URL('..', import.meta.url));
const cacheFile = join(root, 'node_modules', '.cache', 'parley-node-path');

/** Path of a Node >= 24: this one, the one found last time, or one fetched by npm (8 s, once). */
export function findNode() {
  if (Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN) return process.execPath;
  if (existsSync(cacheFile)) {
    const known = readFileSync(cacheFile, 'utf8').trim();
    if (existsSync(known)) return known;
  }
  console.error(
    `parley: Node ${process.versions.node} is older than ${NODE_MAJOR_MIN}; fetching one from npm (once) …`,
  );
  const asked = spawnSync(
    'npm',
    [
      'exec',
      '--yes',
      '--ignore-scripts=false',
      `--package=node@${NODE_MAJOR_MIN}`,
      '--',
      'node',
      '-p',
      'process.execPath',
    ],
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], cwd: root },
  );
  const path = asked.stdout?.trim().split('\n').at(-1) ?? '';
  if (asked.status !== 0 || !existsSync(path)) {
    console.error(
      `parley: no Node ${NODE_MAJOR_MIN} could be had from npm. Install Node ${NODE_MAJOR_MIN} or newer.\n${asked.stderr ?? ''}`,
    );
    process.exit(1);
  }
  mkdirSync(join(root, 'node_modules', '.cache'), { recursive: true });
  writeFileSync(cacheFile, path);
  return path;
}

const [, , ...args] = process.argv;
const child = spawn(findNode(), ['--disable-warning=ExperimentalWarning', ...args], {
  stdio: 'inherit',
  cwd: process.cwd(),
});
// The shell and npm stand in front of us: signals reach this process only, so they are handed on.
for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
child.on('exit', (code, signal) => {
  process.exitCode = code ?? 128 + (signal ? constants.signals[signal] : 0);
});
