import { execFile } from 'node:child_process';
import { access, constants, stat } from 'node:fs/promises';
import { delimiter, join, resolve } from 'node:path';
import { programEnvironment } from './environment.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Ours: characters of a version line that are shown. */
const VERSION_CHARACTERS_MAX = 200;

/**
 * Where a program is: a name is looked for along PATH, what holds a slash is a path.
 * @returns its absolute path, or undefined where there is no file that we may execute.
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
 * What a program says of its version, as one line; llama-server does so on standard error.
 * @returns undefined where it says nothing, fails, or is not done in time.
 */
export const programVersion = (
  path: string,
  { environment, withinMs }: { readonly environment: Environment; readonly withinMs: number },
): Promise<string | undefined> =>
  new Promise((resolveLine) => {
    const options = {
      env: programEnvironment(environment, {}),
      timeout: withinMs,
      killSignal: 'SIGKILL',
      maxBuffer: 64 * 1024,
    } as const;
    execFile(path, ['--version'], options, (error, stdout, stderr) => {
      const lines = `${stdout}\n${stderr}`.split('\n').map((line) => line.trim());
      const line = lines.find((text) => /version/i.test(text)) ?? lines.find((text) => text !== '');
      resolveLine(error ? undefined : line?.slice(0, VERSION_CHARACTERS_MAX));
    }).stdin?.end();
  });
