import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What `.ci/run` and the readme install. */
const VENV = fileURLToPath(new URL('../../.cache/python/bin/python', import.meta.url));

export interface Python {
  readonly path: string;
  /** Why its tests are skipped. */
  readonly lacks?: string;
}

/** A Python that has this package in the version that requirements.txt pins: PARLEY_PYTHON, ours, the system's. */
export function findPython(packageName: string): Python {
  const pins = readFileSync(new URL('requirements.txt', import.meta.url), 'utf8').split('\n');
  const version = pins.find((line) => line.startsWith(`${packageName}==`))?.split('==')[1] ?? '';
  const found = [process.env.PARLEY_PYTHON, existsSync(VENV) ? VENV : undefined, 'python3']
    .filter((path) => path !== undefined)
    .find((path) => versionOf(path, packageName) === version);
  if (found !== undefined) return { path: found };
  return {
    path: 'python3',
    lacks: `no Python with ${packageName} ${version} (python3 -m venv .cache/python && .cache/python/bin/pip install --no-deps -r test/clients/requirements.txt)`,
  };
}

function versionOf(python: string, packageName: string): string {
  const code = 'import sys, importlib.metadata; print(importlib.metadata.version(sys.argv[1]))';
  return spawnSync(python, ['-c', code, packageName], { encoding: 'utf8' }).stdout?.trim() ?? '';
}
