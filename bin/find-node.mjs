// Finds a Node new enough for Parley. Plain JavaScript, because the Node that imports this file may be an old one.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** The first major version with built-in SQLite with full-text search and with type stripping of erasable syntax. */
export const NODE_MAJOR_MIN = 24;

/** Whether the Node that runs this is new enough. */
export const isNodeRecent = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN;

// The path is remembered in the user's cache folder: an installed package may be read-only, and all checkouts share it.
const cacheFile = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'parley', `node-${NODE_MAJOR_MIN}`);

/** Returns the path of a Node that is new enough: this one, the one found last time, or one fetched by npm (8 s, once). */
export function findNode() {
  if (isNodeRecent) return process.execPath;
  const known = existsSync(cacheFile) ? readFileSync(cacheFile, 'utf8').trim() : '';
  if (known !== '' && existsSync(known)) return known;
  const path = fetchNode();
  try {
    mkdirSync(dirname(cacheFile), { recursive: true });
    writeFileSync(cacheFile, `${path}\n`);
  } catch (error) {
    console.error(
      `parley: cannot write ${cacheFile} (${error.message}); each start will look for Node ${NODE_MAJOR_MIN} through npm again.`,
    );
  }
  return path;
}

/** Runs a Node that is new enough in place of this process: same streams, signals passed on, same exit code. */
export function runNode(args) {
  const child = spawn(findNode(), ['--disable-warning=ExperimentalWarning', ...args], { stdio: 'inherit' });
  // The starting program knows the id of this process only, so this process passes its signals on.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`parley: cannot start ${child.spawnfile}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}

function fetchNode() {
  console.error(
    `parley: Node ${process.versions.node} is older than ${NODE_MAJOR_MIN}; fetching one from npm (once) …`,
  );
  // The npm package `node` installs its binary by an install script, hence ignore-scripts=false for this command only.
  const result = spawnSync(
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
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' },
  );
  const path = result.stdout ? result.stdout.trim().split('\n').pop() : '';
  if (result.status === 0 && existsSync(path)) return path;
  const why = result.stderr || (result.error ? result.error.message : '');
  console.error(`parley: npm could not fetch Node ${NODE_MAJOR_MIN}. Install Node ${NODE_MAJOR_MIN} or newer.\n${why}`);
  return process.exit(1);
}
