import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { z } from 'zod';
import type { WheelTarget } from '../../../weights/wheel.ts';

/** A package that was built for the interpreter, with the hash of its file. */
export interface DistributionPackage {
  readonly name: string;
  readonly version: string;
  readonly fileName: string;
  readonly sha256: string;
  /** Names of the packages that it imports. */
  readonly dependencies: readonly string[];
  /** Names of its modules. */
  readonly modules: readonly string[];
}

/** The packages that belong to one release of the interpreter. */
export interface PyodideDistribution {
  readonly version: string;
  readonly packages: ReadonlyMap<string, DistributionPackage>;
  readonly target: WheelTarget;
  /** Folder of the release on the interpreter's own server. */
  readonly url: string;
}

const LockFile = z.object({
  info: z.object({ abi_version: z.string(), python: z.string() }),
  packages: z.record(
    z.string(),
    z.object({
      name: z.string(),
      version: z.string(),
      file_name: z.string(),
      sha256: z.string(),
      depends: z.array(z.string()),
      imports: z.array(z.string()),
    }),
  ),
});

/** Reads the lock file of the installed interpreter, which npm has verified with the rest of that package. */
export function readPyodideDistribution(): PyodideDistribution {
  const packageFile = createRequire(import.meta.url).resolve('pyodide/package.json');
  const { version } = z.object({ version: z.string() }).parse(JSON.parse(readFileSync(packageFile, 'utf8')));
  const lock = LockFile.parse(JSON.parse(readFileSync(join(dirname(packageFile), 'pyodide-lock.json'), 'utf8')));
  const packages = Object.values(lock.packages).map(
    ({ name, version: packageVersion, file_name: fileName, sha256, depends: dependencies, imports: modules }) =>
      [name, { name, version: packageVersion, fileName, sha256, dependencies, modules }] as const,
  );
  return {
    version,
    packages: new Map(packages),
    target: {
      platform: `pyemscripten_${lock.info.abi_version}_wasm32`,
      python: lock.info.python.split('.').slice(0, 2).join('.'),
    },
    url: `https://cdn.jsdelivr.net/pyodide/v${version}/full/`,
  };
}
