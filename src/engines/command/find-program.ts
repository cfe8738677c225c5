import { execFile } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { createProgramEnvironment } from './program-environment.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Parley's choice: maximum length of a displayed version line. */
const VERSION_CHARACTERS_MAX = 200;

/**
 * Finds a program: a name is searched along PATH, a name with a slash is a path.
 * @returns the absolute path, or undefined if there is no executable file.
 */
export async function findProgram(name: string, environment: Environment): Promise<string | undefined> {
  const candidates = name.includes('/')
    ? [resolve(name)]
    : (environment.PATH ?? '')
        .split(delimiter)
        .filter((folder) => folder !== '')
        .map((folder) => resolve(join(folder, name)));
  for (const path of candidates) if (await isExecutable(path)) return path;
  return undefined;
}

async function isExecutable(path: string): Promise<boolean> {
  try {
    await access(path, constants.X_OK);
    return (await stat(path)).isFile();
  } catch {
    return false;
  }
}

/**
 * Returns the version of a program as one line; llama-server prints it on standard error.
 * @returns undefined if the program prints nothing, fails, or exceeds `timeoutMs`.
 */
export const readProgramVersion = (
  path: string,
  { environment, timeoutMs }: { readonly environment: Environment; readonly timeoutMs: number },
): Promise<string | undefined> =>
  new Promise((resolveLine) => {
    const options = {
      env: createProgramEnvironment(environment, {}),
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024,
    } as const;
    execFile(path, ['--version'], options, (error, stdout, stderr) => {
      const lines = `${stdout}\n${stderr}`.split('\n').map((line) => line.trim());
      const line = lines.find((text) => /version/i.test(text)) ?? lines.find((text) => text !== '');
      resolveLine(error ? undefined : line?.slice(0, VERSION_CHARACTERS_MAX));
    }).stdin?.end();
  });
