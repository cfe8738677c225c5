import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** Folder into which `.ci/run` installs the packages. */
const CACHE = fileURLToPath(new URL('../../.cache/', import.meta.url));
const VENV = `${CACHE}python/bin/python`;

/**
 * Makes Python keep what it compiles in a folder of its own: importing a client takes half the time then. An empty
 * value means that the variable is not set.
 */
const BYTECODE = { PYTHONPYCACHEPREFIX: `${CACHE}python-bytecode`, PYTHONDONTWRITEBYTECODE: '' };

export interface PythonInstallation {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** Why the tests are skipped; undefined when the package is installed. */
  readonly skipReason?: string;
}

/**
 * Finds a Python with a package in the version that requirements.txt pins: PARLEY_PYTHON, the one in .cache/python, or
 * the system's. With an overlay, the packages of requirements-OVERLAY.txt in .cache/python-OVERLAY take precedence.
 */
export function findPython(packageName: string, overlay?: string): PythonInstallation {
  const requirements = overlay === undefined ? 'requirements.txt' : `requirements-${overlay}.txt`;
  const env: Record<string, string> = {
    ...BYTECODE,
    ...(overlay !== undefined && { PYTHONPATH: `${CACHE}python-${overlay}` }),
  };
  const pins = readFileSync(new URL(requirements, import.meta.url), 'utf8').split('\n');
  const version = pins.find((line) => line.startsWith(`${packageName}==`))?.split('==')[1] ?? '';
  const path = [process.env.PARLEY_PYTHON, existsSync(VENV) ? VENV : undefined, 'python3']
    .filter((path) => path !== undefined)
    .find((path) => readPackageVersion(path, packageName, env) === version);
  if (path !== undefined) return { path, env };
  const command =
    overlay === undefined
      ? `python3 -m venv .cache/python && .cache/python/bin/pip install --no-deps -r test/clients/${requirements}`
      : `.cache/python/bin/pip install --no-deps --target .cache/python-${overlay} -r test/clients/${requirements}`;
  return { path: 'python3', env, skipReason: `no Python with ${packageName} ${version} (${command})` };
}

function readPackageVersion(python: string, packageName: string, env: Readonly<Record<string, string>>): string {
  const code = 'import sys, importlib.metadata; print(importlib.metadata.version(sys.argv[1]))';
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return spawnSync(python, ['-c', code, packageName], options).stdout?.trim() ?? '';
}
