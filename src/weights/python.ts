import { spawn } from 'node:child_process';
import { ServiceError } from '../core/error.ts';
import { errorCode } from './file-system.ts';

export interface PythonNeeds {
  /** The command, e.g. `python3`. */
  readonly python: string;
  /** All of the child's environment. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly signal: AbortSignal;
}

export interface PythonResult {
  readonly status: number | null;
  /** The end of what it said on standard error. */
  readonly errorText: string;
}

/** Characters of a child's standard error that are kept. */
const ERROR_TEXT_MAX = 4_000;

/**
 * Goes before every program. Standard input is a pipe that we hold and never write to: when it closes, we are gone,
 * killed perhaps, and the whole process group ends. Read without a buffer, whose lock Python wants when it exits.
 */
const LIFE_LINE = `
def hold_life_line():
    import os, signal, threading
    def watch():
        try:
            while os.read(0, 1):
                pass
        except OSError:
            pass
        os.killpg(0, signal.SIGKILL)
    threading.Thread(target=watch, daemon=True).start()
hold_life_line()
del hold_life_line
`;

/**
 * Runs a Python program to its end. An abort ends it, and whatever it has started (the command may be a wrapper
 * script); so does the end of this process, in whatever way.
 * @param program As for `python -c`.
 * @throws ServiceError `upstream-failed` when there is no such command; the signal's reason after an abort.
 */
export async function runPython(
  program: string,
  args: readonly string[],
  { python, environment, signal }: PythonNeeds,
): Promise<PythonResult> {
  signal.throwIfAborted();
  // A process group of its own, so that one signal reaches all of it.
  const child = spawn(python, ['-c', `${LIFE_LINE}${program}`, ...args], {
    env: { ...environment },
    detached: true,
    stdio: ['pipe', 'ignore', 'pipe'],
  });
  let errorText = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    errorText = (errorText + text).slice(-ERROR_TEXT_MAX);
  });
  const stop = (): void => {
    if (child.pid !== undefined) killGroup(child.pid);
  };
  signal.addEventListener('abort', stop);
  try {
    // `close` comes when the last process of the group has let go: only then its files are left alone.
    const status = await new Promise<number | null>((resolve, reject) => {
      child.on('error', (thrown) => reject(asRefusal(thrown, python))).on('close', resolve);
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
    if (errorCode(thrown) !== 'ESRCH') throw thrown; // it ended by itself in this moment
  }
}

const asRefusal = (thrown: unknown, python: string): unknown =>
  errorCode(thrown) === 'ENOENT'
    ? new ServiceError('upstream-failed', `Python was not found (command ${python}).`, { cause: thrown })
    : thrown;
