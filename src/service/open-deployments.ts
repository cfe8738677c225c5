import { ServiceError } from '../core/error.ts';
import { getEffectiveInterfaces, type Catalogue, type ModelEntry, type ModelInterface } from '../catalogue/model.ts';
import type { DeploymentRecord } from '../core/deployment.ts';
import type { RegionId } from '../core/region.ts';
import type { JobHandler } from '../jobs/handler.ts';
import { createDeploymentHandler } from '../jobs/kinds/deployment-handler.ts';
import { createZonedTime } from '../protocols/fields/zoned-time.ts';
import { createDeploymentEndpoints } from '../protocols/native/deployments/endpoints.ts';
import { createDeploymentNotifier } from '../resources/deployments/deployment-notifier.ts';
import { createDeploymentTransactions } from '../resources/deployments/deployment-transaction.ts';
import type { DeploymentLifecycle } from '../resources/deployments/deployment.ts';
import type { DeploymentDirectory } from '../resources/deployments/directory.ts';
import { restartDeployments } from '../resources/deployments/restart.ts';
import { createDeployments } from '../resources/deployments/service.ts';
import { createDeploymentLifecycle } from '../resources/deployments/lifecycle.ts';
import type { DeploymentEngines } from './deployments/deployment-engines.ts';
import type { ServiceContext } from './service-context.ts';

interface OpenDeploymentsDeps {
  /** The current catalogue; its entries change while the service runs. */
  readonly catalogue: Pick<Catalogue, 'find' | 'list'>;
  readonly directory: Pick<DeploymentDirectory, 'refresh'>;
}

interface DeploymentJobHandlerDeps {
  readonly deployed: Pick<DeploymentEngines, 'reconcile' | 'retire'>;
  /** Starts the engine of the base model, which serves deployments of reserved tokens (plan `ptu`). */
  readonly prepare: (record: DeploymentRecord) => Promise<void>;
}

/** Opens everything for deployments: the operations of their owners, the job handler, and the endpoints. */
export function openDeployments(
  { config, store, clock, log, jobNotifier }: ServiceContext,
  { catalogue, directory }: OpenDeploymentsDeps,
) {
  const notifier = createDeploymentNotifier();
  const applyChange = createDeploymentTransactions({ store, clock, log, notifier, directory });
  const deployments = createDeployments({
    store,
    transact: applyChange,
    clock,
    findDeployableModel(name, region) {
      const entry = catalogue.find(name);
      if (!entry || (entry.regions && !entry.regions.includes(region))) return undefined;
      if (isDeployable(entry, region)) return { baseModel: entry.name };
      const reason =
        entry.runner.type === 'none'
          ? entry.runner.reason.replace(/\.$/, '')
          : `it serves ${entry.interfaces.join(', ')} only`;
      throw new ServiceError(
        'unsupported',
        `Model ${entry.name} cannot be deployed: ${reason}. Only text models can.`,
        {
          param: 'model_name',
        },
      );
    },
    capacityMax: config.deployments.capacityMax,
    notifier,
    jobNotifier,
  });
  const listDeployableModels = (region: RegionId): readonly string[] =>
    catalogue
      .list()
      .filter((entry) => isDeployable(entry, region))
      .map(({ name }) => name);
  const time = createZonedTime(config.timezone);
  const steps = createDeploymentLifecycle({ store, transact: applyChange });
  return {
    /** Stores how many units of a deployment serve after the number changed without a request. */
    recordServingStatus: (id: string, deployed: Pick<DeploymentEngines, 'getServingStatus'>) =>
      void recordServingStatus(id, { steps, deployed }).catch((error: unknown) =>
        log.warn('recording the serving status of a deployment failed', { id, error }),
      ),
    /** Creates the handler of deployment jobs, for the process that hosts the engines. */
    createJobHandler: ({ deployed, prepare }: DeploymentJobHandlerDeps): JobHandler =>
      createDeploymentHandler({
        lifecycle: steps,
        notifier,
        log,
        runtime: {
          async reconcile(record, signal) {
            if (record.plan !== 'ptu') return await deployed.reconcile(record, signal);
            if (record.capacity > 0) await prepare(record);
            return { readyUnits: record.capacity };
          },
          retire: (id) => deployed.retire(id),
        },
      }),
    /** Resets the serving state of all deployments in the process that hosts the engines: earlier engines ended with theirs. */
    resetAfterRestart: () => restartDeployments({ transact: applyChange, clock }),
    endpoints: createDeploymentEndpoints({
      deployments,
      listDeployableModels,
      findBaseModel: (name) => catalogue.find(name),
      time,
      strict: config.strict,
    }),
  };
}

/** Repeats until the recorded status is current: it can change while it is being written. */
async function recordServingStatus(
  id: string,
  {
    steps,
    deployed,
  }: { readonly steps: DeploymentLifecycle; readonly deployed: Pick<DeploymentEngines, 'getServingStatus'> },
): Promise<void> {
  for (;;) {
    const record = await steps.find(id);
    const status = deployed.getServingStatus(id);
    if (!record || !status) return;
    const { readyUnits, reason = '' } = status;
    const readyCapacity = readyUnits * record.baseCapacity;
    await steps.reportReady(id, { generation: record.generation, readyCapacity, reason });
    if (deployed.getServingStatus(id)?.readyUnits === readyUnits) return;
  }
}

/** Interfaces that a text engine serves. */
const TEXT_INTERFACES: readonly ModelInterface[] = [
  'chat',
  'messages',
  'responses',
  'completions',
  'native',
  'translation',
];

const isDeployable = (entry: ModelEntry, region: RegionId): boolean =>
  entry.runner.type !== 'none' &&
  getEffectiveInterfaces(entry).some((each) => TEXT_INTERFACES.includes(each)) &&
  (!entry.regions || entry.regions.includes(region));
