import { spawn } from 'node:child_process';
import { ServiceError } from '../core/error.ts';
import { getErrorCode } from '../lib/error-code.ts';

export interface PythonOptions {
  /** Python command, for example `python3`. */
  readonly python: string;
  /** The whole environment of the child process. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface PythonResult {
  readonly status: number | null;
  /** The end of the child's standard error. */
  readonly errorText: string;
}

/** Characters of a child's standard error that are kept, from its end. */
const ERROR_TEXT_CHARS_MAX = 4_000;

/**
 * Runs before every program. Standard input is a pipe that this process holds and never writes to: the pipe closes when
 * this process ends, even when it is killed, and the whole process group then ends. `os.read` avoids Python's buffered
 * reader, whose lock Python needs when it exits.
 */
const PARENT_WATCH = `
def watch_parent():
    import os, signal, threading
    def watch():
        try:
            while os.read(0, 1):
                pass
        except OSError:
            pass
        os.killpg(0, signal.SIGKILL)
    threading.Thread(target=watch, daemon=True).start()
watch_parent()
del watch_parent
`;

/**
 * Runs a Python program until it ends. An abort, or the end of this process, stops it and all processes that it started
 * (the command may be a wrapper script).
 * @param program Source text, as for `python -c`.
 * @throws ServiceError `upstream-failed` when the command does not exist; the signal's reason after an abort.
 */
export async function runPython(
  program: string,
  args: readonly string[],
  { python, environment, signal }: PythonOptions,
): Promise<PythonResult> {
  signal.throwIfAborted();
  // The process group of its own lets one signal reach all processes.
  const child = spawn(python, ['-c', `${PARENT_WATCH}${program}`, ...args], {
    env: { ...environment },
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let errorText = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(-ERROR_TEXT_CHARS_MAX);
  });
  const stop = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  signal.addEventListener('abort', stop);
  try {
    // `close` is emitted when the last process of the group has closed its output: only then are its files final.
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on('error', (thrown) => reject(toServiceError(thrown, python))).on('close', resolve);
    });
    signal.throwIfAborted();
    return { status, errorText };
  } finally {
    signal.removeEventListener('abort', stop);
  }
}

function killGroup(pid: number): void {
  try {
    process.kill(-pid, 'SIGTERM');
  } catch (thrown) {
    if (getErrorCode(thrown) !== 'ESRCH') throw thrown; // the group has just ended
  }
}

const toServiceError = (thrown: unknown, python: string): unknown =>
  getErrorCode(thrown) === 'ENOENT'
    ? new ServiceError('upstream-failed', `Python was not found: the command ${python} does not exist.`, {
        cause: thrown,
      })
    : thrown;
