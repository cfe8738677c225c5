import { ownInterfaces } from '../catalogue/model.ts';
import type { Catalogue, ModelEntry, ModelInterface } from '../catalogue/model.ts';
import type { Config } from '../config/config.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { RegionId } from '../core/region.ts';
import type { Log } from '../core/telemetry.ts';
import type { JobHandler } from '../jobs/handler.ts';
import { deploymentJob } from '../jobs/kinds/deployment.ts';
import type { Clock } from '../lib/clock.ts';
import type { Endpoint } from '../protocols/endpoint.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { nativeDeployments } from '../protocols/native/deployments/endpoints.ts';
import { createDeploymentBell } from '../resources/deployments/bell.ts';
import { createChanges } from '../resources/deployments/changes.ts';
import type { DeploymentBell, Deployments, DeploymentSteps } from '../resources/deployments/deployment.ts';
import type { DeploymentDirectory } from '../resources/deployments/directory.ts';
import { restartDeployments } from '../resources/deployments/restart.ts';
import { createDeployments } from '../resources/deployments/service.ts';
import { createDeploymentSteps } from '../resources/deployments/steps.ts';
import type { JobBell } from '../resources/jobs/job-bell.ts';
import type { Store } from '../store/store.ts';
import type { DeployedEngines } from './deployed/deployed.ts';

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
  readonly bell: Pick<DeploymentBell, 'listen'>;
  readonly endpoints: readonly Endpoint[];
  /** More or less of one serves, by itself. */
  tellStanding(id: string, deployed: Pick<DeployedEngines, 'standingOf'>): void;
  /** Brings about what is wanted, in the process that keeps the engines. */
  job(needs: DeploymentWork): JobHandler;
  /** Of the process that keeps the engines, before anything serves: those of an earlier one ended with it. */
  restart(): Promise<void>;
}

interface DeploymentWork {
  readonly deployed: Pick<DeployedEngines, 'bringAbout' | 'retire'>;
  /** Sees to it that what runs a model is there: reserved tokens are served by that. */
  readonly prepare: (record: DeploymentRecord) => Promise<void>;
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
  const steps = createDeploymentSteps({ store, change });
  return {
    deployments,
    bell,
    tellStanding: (id, deployed) =>
      void tellStanding(id, { steps, deployed }).catch((error: unknown) =>
        log.warn('what serves of a deployment could not be written down', { id, error }),
      ),
    job: ({ deployed, prepare }) =>
      deploymentJob({
        steps,
        bell,
        log,
        capacity: {
          async bringAbout(record, signal) {
            if (record.plan !== 'ptu') return await deployed.bringAbout(record, signal);
            if (record.capacity > 0) await prepare(record);
            return { readyUnits: record.capacity };
          },
          retire: (id) => deployed.retire(id),
        },
      }),
    restart: () => restartDeployments({ change, clock }),
    endpoints: nativeDeployments({
      deployments,
      deployableIn,
      modelOf: (name) => catalogue.find(name),
      time,
      strict: config.strict,
    }),
  };
}

/** Until what is written is what is so: it may change meanwhile. */
async function tellStanding(
  id: string,
  { steps, deployed }: { readonly steps: DeploymentSteps; readonly deployed: Pick<DeployedEngines, 'standingOf'> },
): Promise<void> {
  for (;;) {
    const record = await steps.find(id);
    const standing = deployed.standingOf(id);
    if (!record || !standing) return;
    const { readyUnits, reason = '' } = standing;
    const readyCapacity = readyUnits * record.baseCapacity;
    await steps.ready(id, { generation: record.generation, readyCapacity, reason });
    if (deployed.standingOf(id)?.readyUnits === readyUnits) return;
  }
}

/** What an engine for text does. */
const TEXT: readonly ModelInterface[] = ['chat', 'messages', 'responses', 'completions', 'native', 'translation'];

const isDeployable = (entry: ModelEntry, region: RegionId): boolean =>
  entry.runs.type !== 'none' &&
  ownInterfaces(entry).some((each) => TEXT.includes(each)) &&
  (!entry.regions || entry.regions.includes(region));
