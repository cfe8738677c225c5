import { ownInterfaces } from '../catalogue/model.ts';
import type { Catalogue, ModelEntry, ModelInterface } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { RegionId } from '../core/region.ts';
import type { Log } from '../core/telemetry.ts';
import type { Clock } from '../lib/clock.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { nativeDeployments } from '../protocols/native/deployments/endpoints.ts';
import { createDeploymentBell } from '../resources/deployments/bell.ts';
import { createChanges } from '../resources/deployments/changes.ts';
import type { DeploymentBell, Deployments, DeploymentSteps } from '../resources/deployments/deployment.ts';
import type { DeploymentDirectory } from '../resources/deployments/directory.ts';
import { createDeployments } from '../resources/deployments/service.ts';
import { createDeploymentSteps } from '../resources/deployments/steps.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import type { Store } from '../store/store.ts';

export interface OpenDeploymentsNeeds {
  readonly config: Config;
  readonly store: Store;
  readonly clock: Clock;
  readonly log: Log;
  /** The one in force now: it changes while the service runs. */
  readonly catalogue: Pick<Catalogue, 'find' | 'list'>;
  readonly directory: Pick<DeploymentDirectory, 'refresh'>;
  readonly jobBell: Pick<JobBell, 'ring'>;
}

export interface OpenedDeployments {
  readonly deployments: Deployments;
  readonly steps: DeploymentSteps;
  readonly bell: Pick<DeploymentBell, 'listen'>;
  readonly endpoints: readonly Endpoint[];
}

/** Deployments with all that belongs to them: what their owners do, the steps that bring it about, their endpoints. */
export function openDeployments(needs: OpenDeploymentsNeeds): OpenedDeployments {
  const { config, store, clock, log, catalogue, directory, jobBell } = needs;
  const bell = createDeploymentBell();
  const change = createChanges({ store, clock, log, bell, directory });
  const deployments = createDeployments({
    store,
    change,
    clock,
    deployableModel(name, region) {
      const entry = catalogue.find(name);
      return entry && isDeployable(entry, region) ? { baseModel: entry.name } : undefined;
    },
    capacityMax: config.deployments.capacityMax,
    bell,
    jobBell,
  });
  const deployableIn = (region: RegionId): readonly string[] =>
    catalogue
      .list()
      .filter((entry) => isDeployable(entry, region))
      .map(({ name }) => name);
  const time = createZonedTime(config.timezone);
  return {
    deployments,
    steps: createDeploymentSteps({ store, change }),
    bell,
    endpoints: nativeDeployments({ deployments, deployableIn, time, strict: config.strict }),
  };
}

/** What an engine for text does. */
const TEXT: readonly ModelInterface[] = ['chat', 'messages', 'responses', 'completions', 'native', 'translation'];

const isDeployable = (entry: ModelEntry, region: RegionId): boolean =>
  entry.runs.type !== 'none' &&
  ownInterfaces(entry).some((each) => TEXT.includes(each)) &&
  (!entry.regions || entry.regions.includes(region));
