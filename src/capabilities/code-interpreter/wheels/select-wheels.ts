import { ServiceError } from '../../../core/error.ts';
import { findNearNames } from '../../../lib/find-near-names.ts';
import { normalizePackageName } from '../../../weights/simple-index.ts';
import type { DistributionPackage, PyodideDistribution } from './pyodide-distribution.ts';

/** Wheels to add to the folder. */
export interface WheelSelection {
  /** Packages of the distribution with everything that they import, each once. */
  readonly pinned: readonly DistributionPackage[];
  /** Packages that the caller named with a version, for the package index. */
  readonly indexed: readonly { readonly package: string; readonly version: string }[];
}

/**
 * Selects wheels by names: NAME, a package or module of the distribution, or NAME==VERSION, a package of the index.
 * @throws ServiceError `invalid-request` for a name that the distribution does not have, with similar names;
 * `unsupported` for a package with parts that are no wheels.
 */
export function selectWheels(names: readonly string[], { packages }: PyodideDistribution): WheelSelection {
  const pinned = new Map<string, DistributionPackage>();
  const indexed: WheelSelection['indexed'][number][] = [];
  const add = (found: DistributionPackage, requested: string): void => {
    if (pinned.has(found.name)) return;
    if (!found.fileName.endsWith('.whl'))
      throw new ServiceError(
        'unsupported',
        `${requested} cannot be added: it needs ${found.fileName}, which is no wheel.`,
      );
    pinned.set(found.name, found);
    for (const name of found.dependencies) {
      const dependency = packages.get(name);
      if (dependency) add(dependency, requested);
    }
  };
  for (const name of names) {
    const [packageName = '', version] = name.split('==');
    if (version !== undefined) indexed.push({ package: packageName, version });
    else add(findPackage(name, packages), name);
  }
  return { pinned: [...pinned.values()], indexed };
}

function findPackage(name: string, packages: PyodideDistribution['packages']): DistributionPackage {
  const found =
    packages.get(normalizePackageName(name)) ?? [...packages.values()].find(({ modules }) => modules.includes(name));
  if (found) return found;
  const near = findNearNames(name, [...packages.keys()]);
  const hint = near.length > 0 ? ` Similar: ${near.join(', ')}.` : '';
  throw new ServiceError(
    'invalid-request',
    `${name} is not among the packages that are built for the interpreter.${hint} To add a wheel of the package index, name its version: ${name}==1.0.`,
  );
}
