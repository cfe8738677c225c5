import { spawnSync } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

/** What `.ci/run` and the readme install. */
const CACHE = fileURLToPath(new URL('../../.cache/', import.meta.url));
const VENV = `${CACHE}python/bin/python`;

export interface Python {
  readonly path: string;
  readonly env: Readonly<Record<string, string>>;
  /** Why its tests are skipped. */
  readonly lacks?: string;
}

/**
 * A Python that has this package in the version that requirements.txt pins: PARLEY_PYTHON, ours, the system's. With an
 * overlay, the packages of requirements-OVERLAY.txt come before those, from .cache/python-OVERLAY.
 */
export function findPython(packageName: string, overlay?: string): Python {
  const requirements = overlay === undefined ? 'requirements.txt' : `requirements-${overlay}.txt`;
  const env: Record<string, string> = overlay === undefined ? {} : { PYTHONPATH: `${CACHE}python-${overlay}` };
  const pins = readFileSync(new URL(requirements, import.meta.url), 'utf8').split('\n');
  const version = pins.find((line) => line.startsWith(`${packageName}==`))?.split('==')[1] ?? '';
  const found = [process.env.PARLEY_PYTHON, existsSync(VENV) ? VENV : undefined, 'python3']
    .filter((path) => path !== undefined)
    .find((path) => versionOf(path, packageName, env) === version);
  if (found !== undefined) return { path: found, env };
  const how =
    overlay === undefined
      ? `python3 -m venv .cache/python && .cache/python/bin/pip install --no-deps -r test/clients/${requirements}`
      : `.cache/python/bin/pip install --no-deps --target .cache/python-${overlay} -r test/clients/${requirements}`;
  return { path: 'python3', env, lacks: `no Python with ${packageName} ${version} (${how})` };
}

function versionOf(python: string, packageName: string, env: Readonly<Record<string, string>>): string {
  const code = 'import sys, importlib.metadata; print(importlib.metadata.version(sys.argv[1]))';
  const options = { encoding: 'utf8', env: { ...process.env, ...env } } as const;
  return spawnSync(python, ['-c', code, packageName], options).stdout?.trim() ?? '';
}
