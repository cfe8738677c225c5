import { basename, join } from 'node:path';
import { ServiceError } from '../core/error.ts';
import { createPackageIndex, type PackageIndexOptions } from './package-index.ts';
import { findWheel } from './simple-index.ts';
import { getWheelTags, type FetchWheel, type WheelTarget } from './wheel.ts';

/** Downloads wheels without pip: reads the page of the index and downloads the wheel whose hash the page states. */
export function createIndexWheelFetcher(options: PackageIndexOptions & { readonly target?: WheelTarget }): FetchWheel {
  const index = createPackageIndex(options);
  return async (part, folder, signal) => {
    const name = `${part.package}==${part.version}`;
    const file = findWheel(await index.listFiles(part.package, signal), part, getWheelTags(options.target));
    if (!file) throw new ServiceError('upstream-failed', `The package index has no wheel for ${name}.`);
    if (!file.sha256) throw new ServiceError('upstream-failed', `The package index states no hash for ${name}.`);
    const target = join(folder, basename(file.name));
    if ((await index.download(file.url, { target, signal })) === file.sha256) return target;
    throw new ServiceError(
      'upstream-failed',
      `The hash of the wheel for ${name} differs from the one that the package index states.`,
    );
  };
}
