// Finds a Node new enough for Parley. Plain JavaScript that an old Node can load: whoever imports this may run on one.
import { spawn, spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { dirname, join } from 'node:path';

/** Built-in SQLite with full-text search and type stripping of erasable syntax begin here. */
export const NODE_MAJOR_MIN = 24;

/** Whether the Node that runs this is new enough. */
export const isNodeRecent = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN;

// In the user's cache, not in the package: an installed package may be read-only, and all checkouts can share it.
const cacheFile = join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'parley', `node-${NODE_MAJOR_MIN}`);

/** Path of a Node that is new enough: this one, the one found last time, or one fetched by npm (8 s, once). */
export function findNode() {
  if (isNodeRecent) return process.execPath;
  const known = existsSync(cacheFile) ? readFileSync(cacheFile, 'utf8').trim() : '';
  if (known !== '' && existsSync(known)) return known;
  const path = askNpm();
  try {
    mkdirSync(dirname(cacheFile), { recursive: true });
    writeFileSync(cacheFile, `${path}\n`);
  } catch (error) {
    console.error(
      `parley: cannot remember where Node ${NODE_MAJOR_MIN} is (${error.message}); npm is asked each time.`,
    );
  }
  return path;
}

/** Runs a Node that is new enough in place of this process: same streams, signals handed on, same exit code. */
export function runNode(args) {
  const child = spawn(findNode(), ['--disable-warning=ExperimentalWarning', ...args], { stdio: 'inherit' });
  // Whoever started us knows this process only, so its signals are handed on.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    console.error(`parley: ${child.spawnfile} cannot be started: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}

function askNpm() {
  console.error(
    `parley: Node ${process.versions.node} is older than ${NODE_MAJOR_MIN}; fetching one from npm (once) …`,
  );
  // The package that carries Node puts the binary in place by an install script, hence ignore-scripts=false here only.
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
    { encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'], shell: process.platform === 'win32' },
  );
  const path = asked.stdout ? asked.stdout.trim().split('\n').pop() : '';
  if (asked.status === 0 && existsSync(path)) return path;
  const why = asked.stderr || (asked.error ? asked.error.message : '');
  console.error(
    `parley: no Node ${NODE_MAJOR_MIN} could be had from npm. Install Node ${NODE_MAJOR_MIN} or newer.\n${why}`,
  );
  return process.exit(1);
}
