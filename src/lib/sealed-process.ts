import { spawn, type ChildProcess } from 'node:child_process';
import { realpathSync } from 'node:fs';
import { createRequire } from 'node:module';
import { fileURLToPath } from 'node:url';

/** A process of ours that reads what somebody else made: it may do nothing else. */
export interface SealedProcess {
  readonly child: ChildProcess;
  /** How it ended, in words, once it has. Resolved in any case. */
  readonly ended: Promise<string>;
  /** The last of what it said on standard error. */
  said(): string;
  kill(): void;
}

export interface SealedOptions {
  /** Its main file, without an ending: that is ours. */
  readonly main: URL;
  /** Packages that its code needs, wherever they were installed. */
  readonly packages: readonly string[];
}

/** Of what the process says beside its result. */
const STDERR_CHARS_MAX = 2_000;

/** Of this file, and so of all others: from sources or from what was built of them. */
const ENDING = import.meta.url.endsWith('.ts') ? '.ts' : '.js';

/** The file of ours of that name, whichever way we run. */
export const ownFile = (withoutEnding: URL): URL => new URL(`${withoutEnding.href}${ENDING}`);

/** Nothing of our environment, no file but our own code, no process of its own, threads only. */
export function startSealed({ main, packages }: SealedOptions): SealedProcess {
  const child = spawn(
    process.execPath,
    [
      '--disable-warning=ExperimentalWarning',
      '--disable-warning=SecurityWarning',
      '--permission',
      '--allow-worker',
      ...readableFolders(packages).map((folder) => `--allow-fs-read=${folder}`),
      fileURLToPath(ownFile(main)),
    ],
    { env: {}, stdio: ['pipe', 'pipe', 'pipe'] },
  );
  const ended = new Promise<string>((resolve) => {
    child.once('error', (error) => resolve(error.message));
    child.once('close', (code, by) => resolve(by ?? `code ${code}`));
  });
  let said = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (said = (said + text).slice(-STDERR_CHARS_MAX)));
  // A process that ended early; why is told by its end.
  child.stdin.on('error', () => undefined);
  return { child, ended, said: () => said, kill: () => void child.kill('SIGKILL') };
}

/** Where our own code is, and that of the packages it needs. */
function readableFolders(packages: readonly string[]): readonly string[] {
  const own = fileURLToPath(new URL('../..', import.meta.url));
  const require = createRequire(import.meta.url);
  const folders = packages.map((name) => {
    const file = realpathSync(require.resolve(name));
    const at = file.search(/[/\\]node_modules[/\\]/);
    return at < 0 ? file : file.slice(0, at + 'node_modules'.length + 2);
  });
  return [...new Set([own, ...folders])];
}

/** Writes a piece to the standard input; resolves when the process takes more, or has ended. */
export function writeTo(child: ChildProcess, piece: Uint8Array | string): Promise<void> {
  const { stdin } = child;
  if (!stdin || stdin.destroyed || stdin.write(piece)) return Promise.resolve();
  return new Promise((resolve) => {
    const over = (): void => {
      stdin.off('drain', over);
      child.off('close', over);
      resolve();
    };
    stdin.once('drain', over);
    child.once('close', over);
  });
}
