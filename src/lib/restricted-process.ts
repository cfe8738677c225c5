import { spawn, type ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { Socket } from 'node:net';
import { getPriority, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';

/** A child process that processes untrusted input, with minimal permissions. */
export interface RestrictedProcess {
  readonly child: ChildProcess;
  /** Resolves when the process has ended, with the exit code, the signal or the error as text. Never rejects. */
  readonly termination: Promise<string>;
  /** Returns the end of the standard error output. */
  getStderr(): string;
  kill(): void;
  /** Whether this process waits for the other one to end. Default: yes. An idle process must not keep this one alive. */
  setReferenced(isReferenced: boolean): void;
}

export interface RestrictedProcessOptions {
  /** Main file, without its extension: `.ts` in the sources, `.js` in the build. */
  readonly entryUrl: URL;
  /** Packages whose files the process may read. */
  readonly packages: readonly string[];
  /**
   * Freezes the built-in objects of JavaScript and refuses code from strings, so that no input can change what a later
   * one meets; `freezeNodeGlobals` freezes classes of Node. Some packages do not work so. Default: false.
   */
  readonly freezesBuiltIns?: boolean;
}

const FREEZING_OPTIONS = ['--frozen-intrinsics', '--disallow-code-generation-from-strings', '--disable-proto=delete'];

/**
 * Nice value of such a process: on a busy machine it gets a third of the time of a process with the normal priority, so
 * that its work still ends.
 */
const LOWER_PRIORITY = 5;

/** Length of the kept end of the standard error output. */
const STDERR_CHARS_MAX = 2_000;

/** Extension of this file, and so of all source files: `.ts` in the sources, `.js` in the build. */
const SOURCE_EXTENSION = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** Returns the URL of a source file in the form that is running. */
export const resolveSourceFile = (withoutExtension: URL): URL => new URL(`${withoutExtension.href}${SOURCE_EXTENSION}`);

/**
 * Starts a process without environment variables, child processes or file access, except to Parley's code and
 * `packages`. It has a lower priority than this process, so that it delays nobody who needs the processor briefly.
 */
export function startRestrictedProcess({
  entryUrl,
  packages,
  freezesBuiltIns = false,
}: RestrictedProcessOptions): RestrictedProcess {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
      '--permission',
      '--allow-worker',
      ...(freezesBuiltIns ? FREEZING_OPTIONS : []),
      ...listReadableFolders(packages).map((folder) => `--allow-fs-read=${folder}`),
      fileURLToPath(resolveSourceFile(entryUrl)),
    ],
    { env: {}, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  lowerPriority(child);
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, by) => resolve(by ?? `code ${code}`));
  });
  let stderrTail = '';
  child.stderr
    .setEncoding('utf8')
    .on('data', (text: string) => (stderrTail = (stderrTail + text).slice(-STDERR_CHARS_MAX)));
  // Writing fails when the process ended early; `termination` tells the reason.
  child.stdin.on('error', () => undefined);
  return {
    child,
    termination: ended,
    getStderr: () => stderrTail,
    kill: () => void child.kill('SIGKILL'),
    setReferenced(isReferenced) {
      for (const handle of [child, child.stdin, child.stdout, child.stderr])
        if (handle === child || handle instanceof Socket) handle[isReferenced ? 'ref' : 'unref']();
    },
  };
}

/** Lowers the priority of a process that has just started: its threads inherit it. */
function lowerPriority({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, Math.max(getPriority(), LOWER_PRIORITY));
  } catch {
    // The process has ended already, or the system does not allow it; the process works as well without it.
  }
}

/** Lists the folders of Parley's code and of the given packages. */
function listReadableFolders(packages: readonly string[]): readonly string[] {
  const sourceRoot = fileURLToPath(new URL('../..', import.meta.url));
  const require = createRequire(import.meta.url);
  const folders = packages.map((name) => {
    const file = realpathSync(require.resolve(name));
    const at = file.search(/[/\\]node_modules[/\\]/);
    return at < 0 ? file : file.slice(0, at + 'node_modules'.length + 2);
  });
  return [...new Set([sourceRoot, ...folders])];
}

/** Writes to the standard input. Resolves when the process accepts more input, or has ended. */
export function writeToStdin(child: ChildProcess, piece: Uint8Array | string): Promise<void> {
  const { stdin } = child;
  if (!stdin || stdin.destroyed || stdin.write(piece)) return Promise.resolve();
  return new Promise((resolve) => {
    const finish = (): void => {
      stdin.off('drain', finish);
      child.off('close', finish);
      resolve();
    };
    stdin.once('drain', finish);
    child.once('close', finish);
  });
}
