import { ServiceError } from '../core/error.ts';
import { createIndexWheelFetcher } from './index-wheel-fetcher.ts';
import type { PackageIndexOptions } from './package-index.ts';
import { findPipIndexUrl } from './pip-config.ts';
import type { PythonOptions } from './run-python.ts';
import { createPipWheelFetcher, hasPip, type FetchWheel, type WheelTarget } from './wheel.ts';

export interface WheelFetcherOptions extends PythonOptions, Omit<PackageIndexOptions, 'indexUrl'> {
  /** URL of the simple index that is used when Python has no pip and pip's configuration names no index. */
  readonly defaultIndexUrl?: string | undefined;
  /** Python that loads the wheels. Absent: platform-independent wheels only. */
  readonly target?: WheelTarget;
}

/**
 * Chooses how wheels are downloaded: by pip, or without pip from the index of its configuration.
 * @throws ServiceError `upstream-failed` when there is neither.
 */
export async function chooseWheelFetcher(options: WheelFetcherOptions): Promise<FetchWheel> {
  if (await hasPip(options)) return createPipWheelFetcher(options);
  const indexUrl = (await findPipIndexUrl(options.environment)) ?? options.defaultIndexUrl;
  if (indexUrl !== undefined && URL.canParse(indexUrl)) return createIndexWheelFetcher({ ...options, indexUrl });
  throw new ServiceError(
    'upstream-failed',
    'Python has no pip, and no package index is configured: install pip, or set PIP_INDEX_URL.',
  );
}
